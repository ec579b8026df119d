"""What a service keeps beside its experiments, in the file service.db: keys, and who is paused.

Commands change it while a service runs; the service looks whether the file has changed, a hundred times a second
at most: looking takes as long as answering.
"""

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ensample.errors import InvalidArgument, StorageError
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.extras import package
from ensample.service.keys import Key
from ensample.service.places import experiment_files
from ensample.service.service_settings import ServiceSettings

FILE = "service.db"
LOOK = 0.01  # seconds
SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, experiment TEXT, created INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS paused (experiment TEXT PRIMARY KEY) STRICT;
"""


class Keeping(Protocol):
    """What is asked of it, wherever it is kept."""

    def known(self) -> dict[str, Key]:
        """All keys that were ever made, by their ids."""

    def paused(self) -> set[str]:
        """The experiments that are paused."""

    def add(self, key: Key) -> None: ...

    def revoke(self, id: str, time: int) -> None: ...

    def pause(self, experiment: str, paused: bool) -> None: ...

    def close(self) -> None: ...


def store_of(settings: ServiceSettings) -> Keeping:
    if settings.database:
        from ensample.service.postgres_store import PostgresStore

        return PostgresStore(PostgresPool(settings.database, 1))
    return Store(settings.data)


def is_begun(settings: ServiceSettings) -> bool:
    """Whether there is something to look at: to open a folder makes one."""
    return bool(settings.database) or (settings.data / FILE).is_file()


def experiments_in(data: Path) -> dict[str, Path]:
    """The file of each experiment of a service's folder; InvalidArgument where it is not one."""
    found = experiment_files(data)
    if not found and not (data / FILE).is_file():
        raise InvalidArgument("data", str(data), "the folder of a service")
    return found


class Store:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        self._apsw: Any = package("apsw", "the service")
        self.path = folder / FILE
        with self._errors():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = self._apsw.Connection(os.fspath(self.path))
            self._connection.set_busy_timeout(5_000)
            self._connection.pragma("journal_mode", "wal")
            self._connection.pragma("synchronous", "FULL")
            with self._connection:
                self._connection.execute(SCHEMA)
        self._seen, self._looked = -1, 0.0
        self._lock = threading.Lock()  # the event loop, and workers
        self._keys: dict[str, Key] = {}
        self._paused: set[str] = set()

    def known(self) -> dict[str, Key]:
        """All keys that were ever made, by their ids; read again when the file has changed, which is looked at now and then."""
        with self._lock:
            return self._read()

    def _read(self) -> dict[str, Key]:
        now = time.monotonic()
        if self._seen >= 0 and now - self._looked < LOOK:
            return self._keys
        self._looked = now
        with self._errors():
            version = self._connection.pragma("data_version")
            if version != self._seen:
                rows = self._connection.execute(
                    "SELECT id, role, hash, experiment, created, revoked FROM keys ORDER BY created"
                )
                self._keys = {row[0]: Key(*row) for row in rows.fetchall()}
                self._paused = {
                    name
                    for (name,) in self._connection.execute(
                        "SELECT experiment FROM paused"
                    ).fetchall()
                }
                self._seen = version
        return self._keys

    def add(self, key: Key) -> None:
        self._change("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", tuple(key))

    def revoke(self, id: str, time: int) -> None:
        self._change("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (time, id))

    def paused(self) -> set[str]:
        self.known()
        return self._paused

    def pause(self, experiment: str, paused: bool) -> None:
        change = (
            "INSERT OR IGNORE INTO paused VALUES (?)"
            if paused
            else "DELETE FROM paused WHERE experiment = ?"
        )
        self._change(change, (experiment,))

    def _change(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._lock, self._errors(), self._connection:
            self._connection.execute(statement, values)
        self._seen = -1  # the version is another one to other connections only

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._apsw.Error as error:
            number = errno.ENOSPC if isinstance(error, self._apsw.FullError) else errno.EIO
            raise StorageError(number, str(error), os.fspath(self.path)) from error
        except OSError as error:
            raise StorageError(
                error.errno, error.strerror or str(error), os.fspath(self.path)
            ) from error
