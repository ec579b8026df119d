"""Where the experiments of a service are kept: a file each, or a stream each of one PostgreSQL."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ensample.errors import InvalidArgument, StorageError
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.postgres import PostgresStorage, prepared_database, stream_names
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.writer_lock import WriterLock

NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
FOLDER, SUFFIX = "experiments", ".db"
LOCKED = "service"  # what a lock of the folder is called after


def is_name(name: str) -> bool:
    """Whether an experiment may be called so: its name is part of addresses and of a file's name."""
    return NAME.fullmatch(name) is not None


def experiment_files(data: Path) -> dict[str, Path]:
    """The file of each experiment, by name."""
    found = sorted((data / FOLDER).glob(f"*{SUFFIX}"))
    return {
        path.name.removesuffix(SUFFIX): path
        for path in found
        if is_name(path.name.removesuffix(SUFFIX))
    }


def sole(data: Path) -> WriterLock:
    """What the one service of a folder holds; the system lets go of it however that ends. Commands may look meanwhile."""
    try:
        return WriterLock(data / LOCKED)
    except InvalidArgument:
        raise InvalidArgument(
            "data", str(data), "a folder of its own: another service has this folder"
        ) from None


class Place(Protocol):
    """What a catalog asks of it."""

    shared: bool  # whether other servers may add experiments

    def prepare(self) -> None:
        """Before anything else."""

    def names(self) -> list[str]:
        """Of the experiments that are there."""

    def storage(self, name: str) -> Storage:
        """Of one of them, or of a new one."""


class Files:
    """In a folder, which one server has open."""

    shared = False

    def __init__(self, data: Path, storage_of: Callable[[Path], Storage] = SQLiteStorage) -> None:
        self.data, self.storage_of = data, storage_of

    def prepare(self) -> None:
        folder = self.data / FOLDER
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(error.errno, error.strerror or str(error), str(folder)) from error

    def names(self) -> list[str]:
        return list(experiment_files(self.data))

    def storage(self, name: str) -> Storage:
        return self.storage_of(self.path(name))

    def path(self, name: str) -> Path:
        """Return the file of an experiment."""
        return self.data / FOLDER / f"{name}{SUFFIX}"


class Database:
    """In a PostgreSQL, which several servers may share."""

    shared = True

    def __init__(self, pool: PostgresPool) -> None:
        self.pool = pool

    def prepare(self) -> None:
        prepared_database(self.pool.address)

    def names(self) -> list[str]:
        return [name for name in stream_names(self.pool) if is_name(name)]

    def storage(self, name: str) -> Storage:
        return PostgresStorage(self.pool, name)
