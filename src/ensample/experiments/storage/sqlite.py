"""Events in a file: SQLite through apsw, with a write-ahead log that is on the disk before a batch is over.

    meta        what this file is
    events      seq, id of the decision, JSON; seq counts from 0 without gaps
    snapshots   seq, hash, content; of most old ones the hash alone

One writer: it holds a lock on a file beside the database, which the system lets go of however its holder ends.
"""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ensample.errors import ForkError, InvalidArgument, StorageError
from ensample.experiments.events import Event, from_json, to_json
from ensample.experiments.inputs import Moment, system_clock
from ensample.experiments.storage.base import Snapshot
from ensample.experiments.storage.sqlite_reader import (
    CHUNK,
    SQLiteReader,
    close_inherited,
    inherited,
    refused,
)
from ensample.experiments.storage.writer_lock import WriterLock
from ensample.extras import package
from ensample.fork_safety import Lock, RefusedLock, register

FORMAT = "ensample experiment 1"
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, id TEXT, event TEXT NOT NULL) STRICT;
CREATE INDEX events_of_a_decision ON events (id) WHERE id IS NOT NULL;
CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, content BLOB) STRICT;
"""
WHOLE_SNAPSHOTS = 2  # the last ones, of which the content is kept
WHOLE_EVERY = 10  # and of each tenth one before them: an old decision is explained from there
CACHE = 32_000  # KiB
UNKNOWN = -1  # the number of events, where an error kept it from being counted
AT_ONCE = 64  # events of one statement
BESIDE = 1_000  # bytes of a row for a snapshot's number and hash, and more


@cache
def insert_of(size: int) -> str:
    """So many events."""
    return f"INSERT INTO events VALUES {', '.join(['(?, ?, ?)'] * size)}"


class SQLiteStorage:
    """The events of one experiment in one file. `vfs` and `synchronous` are for tests of what a disk may do."""

    slow = True
    rollbacks = 0  # there is one writer: a count that differs tells

    def __init__(self, path: Path, *, vfs: str | None = None, synchronous: str = "FULL") -> None:
        self.path = path
        self.closed = False
        self.lock: Lock = threading.RLock()  # held while the connection is used
        self._inherited: ForkError | None = None  # in the child of a fork
        self._apsw: Any = package("apsw", "open_experiment")
        self._writer = WriterLock(path)
        try:
            self._connection = self._opened(vfs, synchronous)
            self._pending: list[
                tuple[int, str | None, str]
            ] = []  # of this batch, to be written together
            self._count = self._counted()
        except BaseException:
            self._writer.release()
            raise
        register(self)

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Refuse the file of the parent, and keep its lock if the inherited connection cannot be closed here."""
        if not self.closed:
            self.closed, self._inherited = True, inherited(self.path)
            self.lock = RefusedLock(self._inherited)
            if close_inherited(self._apsw, self._connection, at_rest):
                self._writer.leave_to_parent()

    def _opened(self, vfs: str | None, synchronous: str) -> Any:
        apsw = self._apsw
        if not self.path.parent.is_dir():
            raise InvalidArgument("path", os.fspath(self.path), "a file in a folder that exists")
        with self._errors():
            connection = apsw.Connection(os.fspath(self.path), vfs=vfs)
            try:
                connection.set_busy_timeout(5_000)
                # EXTRA syncs the folder too once the journal of this very change is gone: should it come back after a power
                # loss, it would undo the change, and the write-ahead log with all that is in it would not be looked at.
                connection.pragma("synchronous", "EXTRA")
                connection.pragma("journal_mode", "wal")
                connection.pragma("synchronous", synchronous)
                connection.pragma("cache_size", -CACHE)
                self._check_format(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _check_format(self, connection: Any) -> None:
        if not connection.pragma("schema_version"):
            with connection:
                connection.execute(SCHEMA)
                connection.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        tables = {
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        found = None
        if "meta" in tables:
            found = connection.execute("SELECT value FROM meta WHERE name = 'format'").get
        if found != FORMAT:
            raise InvalidArgument(
                "path",
                os.fspath(self.path),
                f"a database of an experiment ({FORMAT}), not {found!r}",
            )

    def _counted(self) -> int:
        with self._errors():
            last = self._connection.execute("SELECT max(seq) FROM events").get
        return 0 if last is None else int(last) + 1

    @property
    def count(self) -> int:
        if self._count == UNKNOWN:
            self._count = self._counted()
        return self._count

    def clock(self) -> Moment:
        return system_clock()

    @contextmanager
    def batch(self) -> Iterator[None]:
        if self.closed:
            raise self._inherited or StorageError(
                errno.EBADF, "it was closed", os.fspath(self.path)
            )
        try:
            yield
            if (
                self._inherited is not None
            ):  # there was a fork inside this batch, and this is the child
                raise self._inherited
            if not self.closed:
                self._commit()
        except BaseException:
            if not self.closed:
                self._undo()
            raise

    def _undo(self) -> None:
        """Back to what is kept: after an error the transaction may be over already, one way or the other."""
        self._pending, self._count = [], UNKNOWN
        with self._errors():
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._count = self._counted()

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def append(self, event: Event) -> None:
        self._pending.append((self.count, getattr(event, "id", None), to_json(event)))
        self._count += 1

    def _write(self) -> None:
        """What is pending, many rows a statement: each statement lets go of the interpreter, and must wait for it again."""
        rows, start = self._pending, 0
        if rows:
            with self._errors():
                self._begin()
                while start < len(rows):
                    self._insert(rows[start : start + AT_ONCE])
                    start += AT_ONCE
            self._pending = []

    def _insert(self, rows: list[tuple[int, str | None, str]]) -> None:
        self._connection.execute(insert_of(len(rows)), list(chain.from_iterable(rows)))

    def _commit(self) -> None:
        """What one statement can write is a transaction by itself."""
        with self._errors():
            if 0 < len(self._pending) <= AT_ONCE and not self._connection.in_transaction:
                self._insert(self._pending)
                self._pending = []
                return
        self._write()
        with self._errors():
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")

    def take_back(self, count: int) -> None:
        written = self._count - len(self._pending)
        self._pending = self._pending[: max(0, count - written)]
        if count < written:
            with self._errors():
                self._begin()
                self._connection.execute("DELETE FROM events WHERE seq >= ?", (count,))
        self._count = count

    def read(self, start: int = 0) -> Iterator[Event]:
        """In chunks, so that nothing is held between two of them."""
        while True:
            self._write()
            with self._errors():
                found = self._connection.execute(
                    "SELECT event FROM events WHERE seq >= ? ORDER BY seq LIMIT ?", (start, CHUNK)
                ).fetchall()
            for (text,) in found:
                yield from_json(text)
            if len(found) < CHUNK:
                return
            start += len(found)

    def history(self, id: str) -> list[Event]:
        with self._errors():
            found = self._connection.execute(
                "SELECT event FROM events WHERE id = ? ORDER BY seq", (id,)
            ).fetchall()
        texts = [text for (text,) in found]
        if self._pending:
            texts += [text for _, own, text in self._pending if own == id]
        return [from_json(text) for text in texts]

    @property
    def room(self) -> int:
        """What a row may have at most, less its other fields."""
        return int(self._connection.limit(self._apsw.SQLITE_LIMIT_LENGTH)) - BESIDE

    def keep(self, snapshot: Snapshot) -> None:
        with self._errors():
            self._begin()
            row = snapshot.seq, snapshot.hash, snapshot.content
            self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", row)
            self._connection.execute(
                "UPDATE snapshots SET content = NULL WHERE content IS NOT NULL AND seq NOT IN "
                "(SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?) AND "
                "(SELECT count(*) FROM snapshots AS up_to WHERE up_to.seq <= snapshots.seq) % ? != 0",
                (WHOLE_SNAPSHOTS, WHOLE_EVERY),
            )

    def snapshots(self) -> Iterator[Snapshot]:
        with self._errors():
            rows = self._connection.execute(
                "SELECT seq, hash FROM snapshots ORDER BY seq DESC"
            ).fetchall()
        for seq, hash in rows:  # contents are large: one at a time, for whoever looks at it
            with self._errors():
                content = self._connection.execute(
                    "SELECT content FROM snapshots WHERE seq = ?", (seq,)
                ).get
            yield Snapshot(seq, content, hash)

    def reader(self) -> SQLiteReader:
        """By a connection of its own; what this writer has not committed yet is not seen."""
        return SQLiteReader(self.path)

    def probe(self) -> None:
        """Write something and take it back: raises `StorageError` where nothing can be kept."""
        with self._errors():
            self._connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('probe', hex(randomblob(4000)))"
            )
            self._connection.execute("DELETE FROM meta WHERE name = 'probe'")

    def close(self) -> None:
        """Once; the write-ahead log is folded into the database, and its file goes."""
        if not self.closed:
            self._commit()  # others' answers of this batch: they are given out after this
            with self._errors():
                self.closed = True
                self._connection.close()
            self._writer.release()

    def _errors(self) -> refused:
        """What the database cannot do is one of our errors."""
        return refused(self._apsw, self.path, self.lock)
