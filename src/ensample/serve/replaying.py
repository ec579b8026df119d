"""The events of a service's experiments, folded again."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ensample.errors import EnsampleError
from ensample.experiments.folding import folded, replayed
from ensample.experiments.opening import recorded_settings
from ensample.experiments.postgres import PostgresReader, is_address, stream_names
from ensample.experiments.snapshotting import state_hash
from ensample.experiments.sqlite_reader import SQLiteReader
from ensample.experiments.storage import Reading
from ensample.serve.store import experiments_in

__all__ = ["Replayed", "replayed_events", "replayed_experiments"]


class Replayed(NamedTuple):
    events: int
    compared: int  # hashes that were kept on the way and came out
    hash: str


def replayed_experiments(
    data: Path | str, verify: bool, progress: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Replayed | EnsampleError]]:
    """Each experiment of a folder, or of a PostgreSQL by its address; or what is wrong with it."""
    for name, reader in readers(data).items():
        try:
            with closing(reader()) as events:
                yield name, replayed_events(events, verify, progress)
        except EnsampleError as error:
            yield name, error


def readers(data: Path | str) -> dict[str, Callable[[], Reading]]:
    """How the events of each experiment are read."""
    if isinstance(data, str) and is_address(data):
        return {name: partial(PostgresReader, data, name) for name in stream_names(data)}
    return {name: partial(SQLiteReader, path) for name, path in experiments_in(Path(data)).items()}


def replayed_events(events: Reading, verify: bool, progress: Callable[[], object] = lambda: None) -> Replayed:
    settings = recorded_settings(events)
    if not verify:
        return Replayed(events.count, 0, state_hash(folded(settings, events)))
    state, compared = replayed(settings, events, progress)
    return Replayed(events.count, compared, state_hash(state))
