"""Events in a file: SQLite through apsw, with a write-ahead log that is synced before a batch is
over.

    meta        what this file is
    events      seq, id of the decision, JSON; seq counts from 0 without gaps
    snapshots   seq, hash, content; of most old ones the hash alone

One writer: it holds a lock on a file beside the database, which the system releases however its
holder ends.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ensample.errors import ForkError, InvalidArgument, StorageError
from ensample.experiments.events import Event
from ensample.experiments.inputs import Moment, system_clock
from ensample.experiments.storage.base import DatabaseStorage, Snapshot
from ensample.experiments.storage.sqlite_reader import (
    WAIT,
    SQLiteFile,
    SQLiteReader,
    inherited,
    refused,
)
from ensample.experiments.storage.writer_lock import WriterLock
from ensample.extras import package
from ensample.fork_safety import Lock, register

FORMAT = "ensample experiment 1"
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, id TEXT, event TEXT NOT NULL) STRICT;
CREATE INDEX events_of_a_decision ON events (id) WHERE id IS NOT NULL;
CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, content BLOB) STRICT;
"""
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
FORGET = """
UPDATE snapshots SET content = NULL WHERE content IS NOT NULL
AND seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)
AND (SELECT count(*) FROM snapshots AS up_to WHERE up_to.seq <= snapshots.seq) % ? != 0
"""
WHOLE_SNAPSHOTS = 2  # the last ones, of which the content is kept
WHOLE_EVERY = 10  # and of each tenth one before them: an old decision is explained from there
CACHE = 32_000  # KiB
AT_ONCE = 64  # events of one statement: each lets go of the interpreter, and must wait for it again
NO_TRANSACTION = nullcontext()
BESIDE = 1_000  # bytes of a row for a snapshot's number and hash, and more


@cache
def insert_of(size: int) -> str:
    return f"INSERT INTO events VALUES {', '.join(['(?, ?, ?)'] * size)}"


class SQLiteStorage(DatabaseStorage):
    """The events of one experiment in one file. `vfs` and `synchronous` are for tests of disks."""

    def __init__(self, path: Path, *, vfs: str | None = None, synchronous: str = "FULL") -> None:
        super().__init__()
        self.path = path
        self._inherited: ForkError | None = None  # in the child of a fork
        self._apsw: Any = package("apsw", "open_experiment")
        self._writer = WriterLock(path)
        try:
            self._connection = self._opened(vfs, synchronous)
            self._file = SQLiteFile(self._apsw, path, self._connection)
            self._kept = self._counted()
        except BaseException:
            self._writer.release()
            raise
        register(self)

    @property
    def lock(self) -> Lock:
        return self._file.lock

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Refuse the parent's file; keep its lock unless its connection could be closed."""
        if not self.closed:
            self.closed, self._inherited = True, inherited(self.path)
            if self._file.refuse_child(at_rest):
                self._writer.leave_to_parent()

    def _opened(self, vfs: str | None, synchronous: str) -> Any:
        path = os.fspath(self.path)
        if not self.path.parent.is_dir():
            raise InvalidArgument("path", path, "a file in a folder that exists")
        with refused(self._apsw, self.path):
            connection = self._apsw.Connection(path, vfs=vfs)
            try:
                connection.set_busy_timeout(WAIT)
                # EXTRA syncs the folder too once the journal of this very change is gone. Should it
                # come back after a power loss, it would undo the change, and the write-ahead log
                # with all that is in it would not be looked at.
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
        """Make the tables of a new file; raise if it is one of another kind."""
        if not connection.pragma("schema_version"):
            with connection:
                connection.execute(SCHEMA)
                connection.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        found = None
        if ("meta",) in connection.execute(TABLES).fetchall():
            found = connection.execute("SELECT value FROM meta WHERE name = 'format'").get
        if found != FORMAT:
            expected = f"a database of an experiment ({FORMAT}), not {found!r}"
            raise InvalidArgument("path", os.fspath(self.path), expected)

    def clock(self) -> Moment:
        return system_clock()

    def snapshots(self) -> Iterator[Snapshot]:
        return self._file.snapshots(self.count)

    @property
    def room(self) -> int:
        """The most that a row may have, less its other fields."""
        return int(self._connection.limit(self._apsw.SQLITE_LIMIT_LENGTH)) - BESIDE

    def keep(self, snapshot: Snapshot) -> None:
        with self._file.errors():
            self._begin()
            insert = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"
            self._connection.execute(insert, (snapshot.seq, snapshot.hash, snapshot.content))
            self._connection.execute(FORGET, (WHOLE_SNAPSHOTS, WHOLE_EVERY))

    def reader(self) -> SQLiteReader:
        """Return a reader by a connection of its own; it does not see what is not committed yet."""
        return SQLiteReader(self.path)

    def probe(self) -> None:
        """Write something and take it back; raise `StorageError` if nothing can be kept."""
        insert = "INSERT OR REPLACE INTO meta VALUES ('probe', hex(randomblob(4000)))"
        with self._file.errors():
            self._connection.execute(insert)
            self._connection.execute("DELETE FROM meta WHERE name = 'probe'")

    def close(self) -> None:
        """Close once; the write-ahead log is folded into the database, and its file goes."""
        if not self.closed:
            self._commit()  # answers of this batch are given out after this
            with self._file.errors():
                self.closed = True
                self._connection.close()
            self._writer.release()

    def _check_open(self) -> None:
        if self.closed:
            error = StorageError(errno.EBADF, "it was closed", os.fspath(self.path))
            raise self._inherited or error

    def _check_process(self) -> None:
        if self._inherited is not None:
            raise self._inherited

    def _transaction(self) -> AbstractContextManager[None]:
        return NO_TRANSACTION  # until something is written: the database has one writer

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        """Write what is pending. What one statement can write is a transaction by itself."""
        first = self._known()
        rows = [(first + place, *row) for place, row in enumerate(self._pending)]
        with self._file.errors():
            if len(rows) > AT_ONCE:
                self._begin()
            for start in range(0, len(rows), AT_ONCE):
                piece = rows[start : start + AT_ONCE]
                self._connection.execute(insert_of(len(piece)), list(chain.from_iterable(piece)))
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        self._written()

    def _undo(self) -> None:
        with self._file.errors():
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._known()

    def _counted(self) -> int:
        return self._file.count()

    def _read(self, start: int) -> Iterator[Event]:
        return self._file.read(start, self._known())

    def _history(self, id: str) -> list[Event]:
        return self._file.history(id, self._known())
