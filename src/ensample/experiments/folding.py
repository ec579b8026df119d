"""From events to a state: all of them, or those after a snapshot."""

import math

from ensample.errors import SnapshotError
from ensample.experiments.settings import Settings
from ensample.experiments.snapshotting import restored, state_hash
from ensample.experiments.state import State
from ensample.experiments.storage import Storage

__all__ = ["folded", "nearest", "verified"]


def nearest(settings: Settings, storage: Storage, round: float = math.inf) -> State:
    """The latest state before a round that is kept whole, its hash checked; that of no events where there is none."""
    for item in storage.snapshots():
        if item.content is not None and (state := restored(settings, item)).round <= round:
            return state
    return State(settings)


def folded(settings: Settings, storage: Storage) -> State:
    """By the latest snapshot that has its content, and the events after it."""
    state = nearest(settings, storage)
    for event in storage.read(state.seq):
        state.apply(event)
    return state


def verified(settings: Settings, storage: Storage, present: State) -> None:
    """Take in all events from the first on, and compare the hash with that of each snapshot and of the present state."""
    hashes = {item.seq: item.hash for item in storage.snapshots()}
    state = State(settings)
    for event in storage.read():
        state.apply(event)
        if state.seq in hashes and state_hash(state) != hashes[state.seq]:
            raise SnapshotError(f"the state after {state.seq} events is not the one that was kept")
    if state_hash(state) != state_hash(present):
        raise SnapshotError(f"the present state is not what its {state.seq} events come to")
