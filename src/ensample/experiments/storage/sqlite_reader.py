"""Reading the file of an experiment, while somebody else may be writing to it."""

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

CHUNK = 1_000  # events read together: nothing is held between two chunks, so no writer waits
WAIT = 5_000  # milliseconds for a lock of the database


class SQLiteFile:
    """A connection to a file, and its rows up to event number `stop`."""

    def __init__(self, apsw: Any, path: Path, connection: Any) -> None:
        self.apsw, self.path, self.connection = apsw, path, connection
        self.lock: Lock = threading.RLock()  # held while the connection is used

    def errors(self) -> "refused":
        return refused(self.apsw, self.path, self.lock)

    def all(self, query: str, *values: Any) -> list[Any]:
        with self.errors():
            rows: list[Any] = self.connection.execute(query, values).fetchall()
        return rows

    def count(self) -> int:
        ((last,),) = self.all("SELECT max(seq) FROM events")
        return 0 if last is None else int(last) + 1

    def read(self, start: int, stop: int) -> Iterator[Event]:
        query = "SELECT event FROM events WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?"
        while start < stop:
            found = self.all(query, start, stop, CHUNK)
            for (text,) in found:
                yield from_json(text)
            if len(found) < CHUNK:
                return
            start += len(found)

    def history(self, id: str, stop: int) -> list[Event]:
        query = "SELECT event FROM events WHERE id = ? AND seq < ? ORDER BY seq"
        return [from_json(text) for (text,) in self.all(query, id, stop)]

    def snapshots(self, stop: int) -> Iterator[Snapshot]:
        """Yield the snapshots. The content of each, which is large, is read when its turn comes."""
        query = "SELECT seq, hash FROM snapshots WHERE seq <= ? ORDER BY seq DESC"
        for seq, hash in self.all(query, stop):
            found = self.all("SELECT content FROM snapshots WHERE seq = ?", seq)
            yield Snapshot(seq, found[0][0] if found else None, hash)

    def refuse_child(self, at_rest: bool) -> bool:
        """Refuse to work in the child of a fork; return True if the connection could be closed."""
        self.lock = RefusedLock(inherited(self.path))
        return close_inherited(self.apsw, self.connection, at_rest)


class SQLiteReader:
    """The events that a file has when this is made.

    With `alone` nobody writes meanwhile, and reading leaves no files beside it, unless there are
    some already.
    """

    def __init__(self, path: Path, alone: bool = False) -> None:
        apsw = package("apsw", "a file of an experiment")
        if not path.is_file():
            raise InvalidArgument("path", os.fspath(path), "the file of an experiment")
        with refused(apsw, path):
            connection = read_only(apsw, path, alone)
            connection.set_busy_timeout(WAIT)
        self._file = SQLiteFile(apsw, path, connection)
        self.count = self._file.count()
        register(self)

    @property
    def lock(self) -> Lock:
        return self._file.lock

    def read(self, start: int = 0) -> Iterator[Event]:
        return self._file.read(start, self.count)

    def history(self, id: str) -> list[Event]:
        return self._file.history(id, self.count)

    def snapshots(self) -> Iterator[Snapshot]:
        return self._file.snapshots(self.count)

    def close(self) -> None:
        self._file.connection.close()

    def after_fork_in_child(self, at_rest: bool) -> None:
        self._file.refuse_child(at_rest)


def read_only(apsw: Any, path: Path, alone: bool) -> Any:
    """Open a database for reading.

    A reader of a write-ahead log makes the files -wal and -shm and cannot remove them. Where nobody
    writes and there is no log, SQLite reads the database alone (`immutable`).
    """
    immutable = alone and not path.with_name(f"{path.name}-wal").exists()
    name = f"{path.absolute().as_uri()}?immutable=1" if immutable else os.fspath(path)
    flags = apsw.SQLITE_OPEN_READONLY | (apsw.SQLITE_OPEN_URI if immutable else 0)
    return apsw.Connection(name, flags=flags)


def inherited(path: Path) -> ForkError:
    """Return the error of a child that uses what its parent has opened."""
    expected = (
        "opened in the process that uses it: call open_experiment here instead; the parent must "
        "have closed it, as a file has one writer"
    )
    return ForkError(f"the experiment {os.fspath(path)}", expected)


def close_inherited(apsw: Any, connection: Any, at_rest: bool) -> bool:
    """Close a parent's connection in the child of a fork, without touching the parent's files.

    SQLite documents SQLITE_FCNTL_NULL_IO for this. It has to be closed, as a later connection to
    the file would otherwise share locks that this process does not have. One that is in use cannot
    be: it is kept for ever, as freeing it would close it. Return True if it is closed.
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
            expected = f"expected a database of an experiment that is whole ({error})"
            raise SnapshotError(f"{self.path}: {expected}") from error
        number = errno.ENOSPC if isinstance(error, self.apsw.FullError) else errno.EIO
        said = str(error) or os.strerror(number)
        raise StorageError(number, said, os.fspath(self.path)) from error
