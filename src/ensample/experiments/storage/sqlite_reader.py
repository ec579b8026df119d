"""Reading the file of an experiment while somebody else may be writing to it."""

import ctypes
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ensample.errors import ForkError, InvalidArgument, SnapshotError, StorageError
from ensample.experiments.events import Event, from_json
from ensample.experiments.storage.base import Snapshot
from ensample.extras import package
from ensample.fork_safety import Lock, RefusedLock, register

CHUNK = 1_000  # events read together


class SQLiteReader:
    """The events that a file has when this is made. Nothing is held between two chunks, so that no writer waits for it.

    With `alone` nobody writes meanwhile, and reading leaves no files beside it, unless there are some already.
    """

    def __init__(self, path: Path, alone: bool = False) -> None:
        self.path = path
        self.lock: Lock = threading.RLock()
        self._apsw: Any = package("apsw", "a file of an experiment")
        if not path.is_file():
            raise InvalidArgument("path", os.fspath(path), "the file of an experiment")
        with self._errors():
            self._connection = read_only(self._apsw, path, alone)
            self._connection.set_busy_timeout(5_000)
            last = self._connection.execute("SELECT max(seq) FROM events").get
        self.count = 0 if last is None else int(last) + 1
        register(self)

    def read(self, start: int = 0) -> Iterator[Event]:
        for _, text in self._rows("seq >= ? ORDER BY seq LIMIT ?", start):
            yield from_json(text)

    def _rows(self, where: str, start: int) -> Iterator[tuple[int, str]]:
        query = f"SELECT seq, event FROM events WHERE seq < {self.count} AND {where}"
        while True:
            with self._errors():
                found = self._connection.execute(query, (start, CHUNK)).fetchall()
            yield from found
            if len(found) < CHUNK:
                return
            start = found[-1][0] + 1

    def history(self, id: str) -> list[Event]:
        query = "SELECT event FROM events WHERE id = ? AND seq < ? ORDER BY seq"
        with self._errors():
            found = self._connection.execute(query, (id, self.count)).fetchall()
        return [from_json(text) for (text,) in found]

    def snapshots(self) -> Iterator[Snapshot]:
        query = "SELECT seq, hash FROM snapshots WHERE seq <= ? ORDER BY seq DESC"
        with self._errors():
            rows = self._connection.execute(query, (self.count,)).fetchall()
        for seq, hash in rows:
            with self._errors():
                content = self._connection.execute(
                    "SELECT content FROM snapshots WHERE seq = ?", (seq,)
                ).get
            yield Snapshot(seq, content, hash)

    def close(self) -> None:
        self._connection.close()

    def after_fork_in_child(self, at_rest: bool) -> None:
        close_inherited(self._apsw, self._connection, at_rest)
        self.lock = RefusedLock(inherited(self.path))

    def _errors(self) -> "refused":
        return refused(self._apsw, self.path, self.lock)


def read_only(apsw: Any, path: Path, alone: bool) -> Any:
    """Open a database for reading.

    A reader of a write-ahead log makes the files -wal and -shm and cannot remove them. Where nobody writes and there is no
    log, SQLite reads the database alone (`immutable`).
    """
    immutable = alone and not path.with_name(f"{path.name}-wal").exists()
    name = f"{path.absolute().as_uri()}?immutable=1" if immutable else os.fspath(path)
    return apsw.Connection(
        name, flags=apsw.SQLITE_OPEN_READONLY | (apsw.SQLITE_OPEN_URI if immutable else 0)
    )


def inherited(path: Path) -> ForkError:
    """Return the error of a child that uses what its parent has opened."""
    expected = (
        "opened in the process that uses it: call open_experiment here instead; the parent must have closed it, "
        "as a file has one writer"
    )
    return ForkError(f"the experiment {os.fspath(path)}", expected)


def close_inherited(apsw: Any, connection: Any, at_rest: bool) -> bool:
    """Close a connection of the parent, in the child of a fork, without touching the parent's files; return True if it is.

    SQLite documents SQLITE_FCNTL_NULL_IO for this. It has to be closed, as a later connection to the file would otherwise share
    locks that this process does not have. One that is in use cannot be: it is kept for ever, as freeing it would close it.
    """
    if at_rest and not connection.in_transaction:
        connection.file_control("main", apsw.SQLITE_FCNTL_NULL_IO, 0)
        connection.close()
        return True
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    return False


class refused:  # noqa: N801
    """Convert errors of the database to ours, and hold `lock`, during which no process forks.

    It is a class, as a generator would take as long as the statement inside.
    """

    __slots__ = ("apsw", "lock", "path")

    def __init__(self, apsw: Any, path: Path, lock: Lock | None = None) -> None:
        self.apsw, self.path, self.lock = apsw, path, threading.Lock() if lock is None else lock

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self.lock.release()
        if error is None or not isinstance(error, self.apsw.Error):
            return
        if isinstance(error, self.apsw.NotADBError | self.apsw.CorruptError | self.apsw.SQLError):
            raise SnapshotError(
                f"{self.path}: expected a database of an experiment that is whole ({error})"
            ) from error
        number = errno.ENOSPC if isinstance(error, self.apsw.FullError) else errno.EIO
        raise StorageError(
            number, str(error) or os.strerror(number), os.fspath(self.path)
        ) from error
