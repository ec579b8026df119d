"""The events of a service's experiments, folded again."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ensample.errors import EnsampleError
from ensample.experiments.opening import recorded_settings
from ensample.experiments.snapshots import folded, replayed, state_hash
from ensample.experiments.storage.base import Reading
from ensample.experiments.storage.postgres import PostgresReader, is_address, stream_names
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service.store import experiments_in


class Replayed(NamedTuple):
    events: int
    compared: int  # hashes that were kept on the way and came out
    hash: str


def replayed_experiments(
    data: Path | str, verify: bool, progress: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Replayed | EnsampleError]]:
    """Each experiment of a folder, or of a PostgreSQL by its address; or what is wrong with it."""
    with readers(data) as found:
        for name, reader in found.items():
            try:
                with closing(reader()) as events:
                    yield name, replayed_events(events, verify, progress)
            except EnsampleError as error:
                yield name, error


@contextmanager
def readers(data: Path | str) -> Iterator[dict[str, Callable[[], Reading]]]:
    """Give what reads the events of each experiment."""
    if isinstance(data, str) and is_address(data):
        with closing(PostgresPool(data, 1)) as pool:
            yield {name: partial(PostgresReader, pool, name) for name in stream_names(pool)}
    else:
        yield {
            name: partial(SQLiteReader, path) for name, path in experiments_in(Path(data)).items()
        }


def replayed_events(
    events: Reading, verify: bool, progress: Callable[[], object] = lambda: None
) -> Replayed:
    settings = recorded_settings(events)
    if not verify:
        return Replayed(events.count, 0, state_hash(folded(settings, events)))
    state, compared = replayed(settings, events, progress)
    return Replayed(events.count, compared, state_hash(state))
