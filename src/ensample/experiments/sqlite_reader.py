"""Reading the file of an experiment while somebody else may be writing to it."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ensample.errors import InvalidArgument, SnapshotError, StorageError
from ensample.experiments.events import Event, from_json
from ensample.experiments.storage import Snapshot
from ensample.extras import package

__all__ = ["CHUNK", "SQLiteReader", "refused"]

CHUNK = 1_000  # events read together


class SQLiteReader:
    """The events that a file has when this is made. Nothing is held between two chunks, so that no writer waits for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._apsw: Any = package("apsw", "a file of an experiment")
        if not path.is_file():
            raise InvalidArgument("path", os.fspath(path), "the file of an experiment")
        with refused(self._apsw, path):
            self._connection = self._apsw.Connection(os.fspath(path), flags=self._apsw.SQLITE_OPEN_READONLY)
            self._connection.set_busy_timeout(5_000)
            last = self._connection.execute("SELECT max(seq) FROM events").get
        self.count = 0 if last is None else int(last) + 1

    def read(self, start: int = 0) -> Iterator[Event]:
        for _, text in self._rows("seq >= ? ORDER BY seq LIMIT ?", start):
            yield from_json(text)

    def _rows(self, where: str, start: int) -> Iterator[tuple[int, str]]:
        query = f"SELECT seq, event FROM events WHERE seq < {self.count} AND {where}"
        while True:
            with refused(self._apsw, self.path):
                found = self._connection.execute(query, (start, CHUNK)).fetchall()
            yield from found
            if len(found) < CHUNK:
                return
            start = found[-1][0] + 1

    def history(self, id: str) -> list[Event]:
        query = "SELECT event FROM events WHERE id = ? AND seq < ? ORDER BY seq"
        with refused(self._apsw, self.path):
            found = self._connection.execute(query, (id, self.count)).fetchall()
        return [from_json(text) for (text,) in found]

    def snapshots(self) -> Iterator[Snapshot]:
        query = "SELECT seq, hash FROM snapshots WHERE seq <= ? ORDER BY seq DESC"
        with refused(self._apsw, self.path):
            rows = self._connection.execute(query, (self.count,)).fetchall()
        for seq, hash in rows:
            with refused(self._apsw, self.path):
                content = self._connection.execute("SELECT content FROM snapshots WHERE seq = ?", (seq,)).get
            yield Snapshot(seq, content, hash)

    def close(self) -> None:
        self._connection.close()


class refused:  # noqa: N801
    """What the database cannot do is one of our errors. A class: of a function it would take as long as what is inside."""

    __slots__ = ("apsw", "path")

    def __init__(self, apsw: Any, path: Path) -> None:
        self.apsw, self.path = apsw, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None or not isinstance(error, self.apsw.Error):
            return
        if isinstance(error, self.apsw.NotADBError | self.apsw.CorruptError | self.apsw.SQLError):
            raise SnapshotError(f"{self.path}: expected a database of an experiment that is whole ({error})") from error
        number = errno.ENOSPC if isinstance(error, self.apsw.FullError) else errno.EIO
        raise StorageError(number, str(error) or os.strerror(number), os.fspath(self.path)) from error
