"""Backups and replays of a service's experiments, by commands that run beside it."""

import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ensample.errors import EnsampleError
from ensample.experiments.opening import recorded_settings
from ensample.experiments.snapshots import folded, replayed, state_hash
from ensample.experiments.storage.base import Reading
from ensample.experiments.storage.postgres import PostgresReader, is_address, stream_names
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite_reader import SQLiteReader, read_only, refused
from ensample.extras import package
from ensample.files import check_file, write_whole
from ensample.service.store import FILE, service_files


def back_up(data: Path, file: Path) -> list[str]:
    """Write a tar file of a service's folder. Return the names of its experiments."""
    apsw = package("apsw", "a backup")
    found = service_files(data)
    check_file("file", file)
    sources = [*found.values(), *([data / FILE] if (data / FILE).is_file() else [])]

    def write(target: BinaryIO) -> None:
        with (
            tempfile.TemporaryDirectory(dir=file.absolute().parent) as folder,
            tarfile.open(fileobj=target, mode="w") as tar,
        ):
            for source in sources:
                copy = Path(folder, source.name)
                copy_database(apsw, source, copy)
                tar.add(copy, str(source.relative_to(data)))
                copy.unlink()

    write_whole(file, write)
    return list(found)


def copy_database(apsw: Any, source: Path, target: Path, alone: bool = False) -> None:
    """Copy a file of SQLite within one transaction. `alone`: nobody writes to it."""
    with refused(apsw, source):
        reading = read_only(apsw, source, alone)
        reading.set_busy_timeout(5_000)
        writing = apsw.Connection(str(target))
        try:
            with writing.backup("main", reading, "main") as backup:
                backup.step()  # all of it
        finally:
            writing.close()
            reading.close()


class Replayed(NamedTuple):
    events: int
    compared: int  # hashes that were stored on the way and came out
    hash: str


def replayed_experiments(
    data: Path | str, verify: bool, progress: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Replayed | EnsampleError]]:
    """Fold all events of each experiment of a folder, or of a PostgreSQL by its address."""
    with readers(data) as found:
        for name, reader in found.items():
            try:
                with closing(reader()) as events:
                    yield name, replayed_events(events, verify, progress)
            except EnsampleError as error:
                yield name, error


@contextmanager
def readers(data: Path | str) -> Iterator[dict[str, Callable[[], Reading]]]:
    """Give the functions that open a reader of each experiment."""
    if isinstance(data, str) and is_address(data):
        with closing(PostgresPool(data, 1)) as pool:
            yield {name: partial(PostgresReader, pool, name) for name in stream_names(pool)}
    else:
        files = service_files(Path(data))
        yield {name: partial(SQLiteReader, path) for name, path in files.items()}


def replayed_events(
    events: Reading, verify: bool, progress: Callable[[], object] = lambda: None
) -> Replayed:
    """Fold events again.

    With `verify`, compare the state with every hash that was stored on the way.
    """
    settings = recorded_settings(events)
    if not verify:
        return Replayed(events.count, 0, state_hash(folded(settings, events)))
    state, compared = replayed(settings, events, progress)
    return Replayed(events.count, compared, state_hash(state))
