"""From events to a state: all of them, or those after a snapshot."""

import math
from collections.abc import Callable

from ensample.errors import SnapshotError
from ensample.experiments.events import Created
from ensample.experiments.settings import Settings
from ensample.experiments.snapshotting import restored, state_hash
from ensample.experiments.state import State
from ensample.experiments.storage import Reading, Snapshot, Storage


def creation(storage: Storage | Reading) -> Created:
    """Return the first event."""
    first = next(iter(storage.read()))
    if not isinstance(first, Created):
        raise SnapshotError("the first event does not say what the experiment is")
    return first


def nearest(settings: Settings, storage: Storage | Reading, round: float = math.inf) -> State:
    """The latest state before a round that is kept whole, its hash checked; that of no events where there is none."""
    for item in storage.snapshots():
        if (
            item.content is not None
            and (state := restored(settings, item)).round <= round
            and state.learner.is_finite()
        ):
            return state  # of earlier releases some are not finite; `State` leaves out the reward that made them so
    return State(settings)


def folded(settings: Settings, storage: Storage | Reading) -> State:
    """Return the present state, from the latest finite snapshot with its content and the events after it."""
    state = nearest(settings, storage)
    events = iter(storage.read(max(0, state.seq - 1)))
    if state.seq:
        state.time = max(state.time, next(events).time)
    for event in events:
        state.apply(event)
    return state


def replayed(
    settings: Settings, storage: Storage | Reading, progress: Callable[[], object] = lambda: None
) -> tuple[State, int]:
    """Take in all events from the first on; raise `SnapshotError` unless the hash of each snapshot is equal.

    Return the state and the number of equal hashes. Where this version leaves out a reward that an earlier release learned
    (`State.left_out`), the snapshots of that release without a finite model are skipped, until a hash is equal again.
    """
    kept = {item.seq: item for item in storage.snapshots()}
    state, compared, is_equal_again = State(settings), 0, False
    for event in storage.read():
        state.apply(event)
        found = kept.get(state.seq)
        if found is not None and state_hash(state) == found.hash:
            compared += 1
            is_equal_again = state.left_out > 0
        elif found is not None and (
            is_equal_again or not state.left_out or was_finite(settings, found)
        ):
            raise SnapshotError(f"the state after {state.seq} events is not the one that was kept")
        progress()
    return state, compared


def was_finite(settings: Settings, snapshot: Snapshot) -> bool:
    """Return True if the snapshot has its content, with a model that is finite."""
    return snapshot.content is not None and restored(settings, snapshot).learner.is_finite()


def verified(settings: Settings, storage: Storage | Reading, present: State) -> None:
    """Do as `replayed`, and raise unless the present state has the same hash, too."""
    state, _ = replayed(settings, storage)
    if state_hash(state) != state_hash(present):
        raise SnapshotError(f"the present state is not what its {state.seq} events come to")
