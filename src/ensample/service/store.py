"""Storage of everything that a service keeps: experiments, keys, and which are paused.

`FolderStore` has a file for each experiment, and `service.db` for the rest. Commands change
`service.db` while a service runs, so it is looked at again, at most a hundred times a second:
looking takes as long as answering.
"""

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ensample.errors import EnsampleError, InvalidArgument, StorageError
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.writer_lock import WriterLock
from ensample.extras import package
from ensample.service.auth import Key
from ensample.service.settings import ServiceSettings

FILE = "service.db"
FOLDER, SUFFIX = "experiments", ".db"
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
LOOK_EVERY = 0.01  # seconds
SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, experiment TEXT,
    created INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS paused (experiment TEXT PRIMARY KEY) STRICT;
"""
KEYS = "SELECT id, role, hash, experiment, created, revoked FROM keys ORDER BY created"
StorageOf = Callable[[Path], Storage]

if TYPE_CHECKING:
    from ensample.service.postgres_store import PostgresStore

Store: TypeAlias = "FolderStore | PostgresStore"


def open_store(settings: ServiceSettings, storage_of: StorageOf = SQLiteStorage) -> Store:
    if not settings.database:
        return FolderStore(settings.data, storage_of)
    from ensample.service.postgres_store import PostgresStore

    return PostgresStore(PostgresPool(settings.database, settings.database_connections))


def exists(settings: ServiceSettings) -> bool:
    """Return True if there is a store already. Opening a folder makes one."""
    return bool(settings.database) or (settings.data / FILE).is_file()


def is_name(name: str) -> bool:
    """Return True if an experiment may have a name: it becomes part of a file's name."""
    return NAME.fullmatch(name) is not None


def experiment_files(data: Path) -> dict[str, Path]:
    """Return the file of each experiment of a folder, by name."""
    found = {path.name.removesuffix(SUFFIX): path for path in (data / FOLDER).glob(f"*{SUFFIX}")}
    return {name: found[name] for name in sorted(found) if is_name(name)}


def experiment_file(data: Path, name: str) -> Path:
    return data / FOLDER / f"{name}{SUFFIX}"


def service_files(data: Path) -> dict[str, Path]:
    """Return the file of each experiment. Raise if the folder is not one of a service."""
    found = experiment_files(data)
    if not found and not (data / FILE).is_file():
        raise InvalidArgument("data", str(data), "the folder of a service")
    return found


class FolderStore:
    """A folder. One service at a time has it; commands may look meanwhile."""

    shared = False

    def __init__(self, folder: Path, storage_of: StorageOf = SQLiteStorage) -> None:
        self._apsw: Any = package("apsw", "the service")
        self.folder, self.storage_of = folder, storage_of
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._writer: WriterLock | None = None
        self._keys: dict[str, Key] = {}
        self._paused: set[str] = set()
        with self._errors():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = self._apsw.Connection(os.fspath(self.path))
            self._connection.set_busy_timeout(5_000)
            self._connection.pragma("journal_mode", "wal")
            self._connection.pragma("synchronous", "FULL")
            with self._connection:
                self._connection.execute(SCHEMA)
        self._version, self._looked_at = -1, float("-inf")

    def lock(self) -> None:
        """Keep other services from this folder.

        The system drops the lock however the process ends.
        """
        try:
            self._writer = WriterLock(self.folder / "service")
        except EnsampleError as error:
            self._connection.close()
            if not isinstance(error, InvalidArgument):
                raise
            expected = "a folder of its own: another service has this folder"
            raise InvalidArgument("data", str(self.folder), expected) from None

    def prepare(self) -> None:
        with self._errors():
            (self.folder / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)

    def names(self) -> list[str]:
        return list(experiment_files(self.folder))

    def storage(self, name: str) -> Storage:
        return self.storage_of(experiment_file(self.folder, name))

    def all_keys(self) -> dict[str, Key]:
        if time.monotonic() - self._looked_at >= LOOK_EVERY:
            self._look()
        return self._keys

    def paused(self) -> set[str]:
        self.all_keys()
        return self._paused

    def _look(self) -> None:
        """Read keys and pauses if the file has changed."""
        with self._lock, self._errors():
            self._looked_at = time.monotonic()
            version = self._connection.pragma("data_version")
            if version != self._version:
                self._keys = {row[0]: Key(*row) for row in self._connection.execute(KEYS)}
                names = self._connection.execute("SELECT experiment FROM paused")
                self._paused = {name for (name,) in names}
                self._version = version

    def add(self, key: Key) -> None:
        self._change("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", *key)

    def revoke(self, id: str, time: int) -> None:
        self._change("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", time, id)

    def pause(self, experiment: str, paused: bool) -> None:
        if paused:
            self._change("INSERT OR IGNORE INTO paused VALUES (?)", experiment)
        else:
            self._change("DELETE FROM paused WHERE experiment = ?", experiment)

    def _change(self, statement: str, *values: Any) -> None:
        with self._lock, self._errors(), self._connection:
            self._connection.execute(statement, values)
        self._version, self._looked_at = -1, float("-inf")  # data_version counts others' changes

    def close(self) -> None:
        self._connection.close()
        if self._writer is not None:
            self._writer.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._apsw.Error as error:
            number = errno.ENOSPC if isinstance(error, self._apsw.FullError) else errno.EIO
            raise StorageError(number, str(error), os.fspath(self.path)) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(error.errno, reason, os.fspath(self.folder)) from error
