"""The events of a service's experiments, folded again."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ensample.errors import EnsampleError, InvalidArgument
from ensample.experiments.folding import folded, replayed
from ensample.experiments.opening import creation
from ensample.experiments.settings import Settings
from ensample.experiments.snapshotting import state_hash
from ensample.experiments.sqlite_reader import SQLiteReader
from ensample.serve.catalog import experiment_files

__all__ = ["Replayed", "replayed_experiments"]


class Replayed(NamedTuple):
    events: int
    compared: int  # hashes that were kept on the way and came out
    hash: str


def replayed_experiments(
    data: Path, verify: bool, progress: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Replayed | EnsampleError]]:
    """Each experiment of a folder, or what is wrong with it."""
    if not data.is_dir():
        raise InvalidArgument("data", str(data), "the folder of a service")
    for name, path in experiment_files(data).items():
        try:
            yield name, replayed_file(path, verify, progress)
        except EnsampleError as error:
            yield name, error


def replayed_file(path: Path, verify: bool, progress: Callable[[], object] = lambda: None) -> Replayed:
    with closing(SQLiteReader(path)) as events:
        settings = Settings.rebuilt(creation(events).settings)
        if not verify:
            return Replayed(events.count, 0, state_hash(folded(settings, events)))
        state = replayed(settings, events, progress)
        return Replayed(events.count, sum(1 for _ in events.snapshots()), state_hash(state))
