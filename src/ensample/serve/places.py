"""Where the experiments of a service are kept: a file each, or a stream each of one PostgreSQL."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ensample.errors import StorageError
from ensample.experiments.postgres import PostgresStorage, prepared_database, stream_names
from ensample.experiments.sqlite import SQLiteStorage
from ensample.experiments.storage import Storage

__all__ = ["Database", "Files", "Place", "experiment_files", "is_name"]

NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
FOLDER, SUFFIX = "experiments", ".db"


def is_name(name: str) -> bool:
    """Whether an experiment may be called so: its name is part of addresses and of a file's name."""
    return NAME.fullmatch(name) is not None


def experiment_files(data: Path) -> dict[str, Path]:
    """The file of each experiment, by name."""
    found = sorted((data / FOLDER).glob(f"*{SUFFIX}"))
    return {path.name.removesuffix(SUFFIX): path for path in found if is_name(path.name.removesuffix(SUFFIX))}


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
        return self.storage_of(self.data / FOLDER / f"{name}{SUFFIX}")


class Database:
    """In a PostgreSQL, which several servers may share."""

    shared = True

    def __init__(self, address: str) -> None:
        self.address = address

    def prepare(self) -> None:
        prepared_database(self.address)

    def names(self) -> list[str]:
        return [name for name in stream_names(self.address) if is_name(name)]

    def storage(self, name: str) -> Storage:
        return PostgresStorage(self.address, name)
