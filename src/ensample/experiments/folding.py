"""From events to a state: all of them, or those after a snapshot."""

from ensample.errors import SnapshotError
from ensample.experiments.settings import Settings
from ensample.experiments.snapshotting import restored, state_hash
from ensample.experiments.state import State
from ensample.experiments.storage import Storage

__all__ = ["folded", "verified"]


def folded(settings: Settings, storage: Storage) -> State:
    """By the latest snapshot that has its content, whose hash is checked, and the events after it."""
    latest = next((item for item in storage.snapshots() if item.content is not None), None)
    state = State(settings) if latest is None else restored(settings, latest)
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
