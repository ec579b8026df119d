"""From events to a state: all of them, or those after a snapshot."""

import math
from collections.abc import Callable

from ensample.errors import SnapshotError
from ensample.experiments.events import Created
from ensample.experiments.settings import Settings
from ensample.experiments.snapshotting import restored, state_hash
from ensample.experiments.state import State
from ensample.experiments.storage import Reading, Storage

__all__ = ["creation", "folded", "nearest", "replayed", "verified"]


def creation(storage: Storage | Reading) -> Created:
    """Return the first event."""
    first = next(iter(storage.read()))
    if not isinstance(first, Created):
        raise SnapshotError("the first event does not say what the experiment is")
    return first


def nearest(settings: Settings, storage: Storage | Reading, round: float = math.inf) -> State:
    """The latest state before a round that is kept whole, its hash checked; that of no events where there is none."""
    for item in storage.snapshots():
        if item.content is not None and (state := restored(settings, item)).round <= round:
            return state
    return State(settings)


def folded(settings: Settings, storage: Storage | Reading) -> State:
    """By the latest snapshot that has its content, and the events after it."""
    state = nearest(settings, storage)
    for event in storage.read(state.seq):
        state.apply(event)
    return state


def replayed(settings: Settings, storage: Storage | Reading, progress: Callable[[], object] = lambda: None) -> State:
    """Take in all events from the first on; `SnapshotError` unless the hash of each snapshot comes out."""
    hashes = {item.seq: item.hash for item in storage.snapshots()}
    state = State(settings)
    for event in storage.read():
        state.apply(event)
        if state.seq in hashes and state_hash(state) != hashes[state.seq]:
            raise SnapshotError(f"the state after {state.seq} events is not the one that was kept")
        progress()
    return state


def verified(settings: Settings, storage: Storage | Reading, present: State) -> None:
    """The same, and the hash of the present state."""
    state = replayed(settings, storage)
    if state_hash(state) != state_hash(present):
        raise SnapshotError(f"the present state is not what its {state.seq} events come to")
