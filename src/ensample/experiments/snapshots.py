"""The state of an experiment as bytes and back, its hash, and how it is folded from events.

The hash is the same wherever the same events were taken in.
"""

import heapq
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ensample.errors import SnapshotError
from ensample.experiments.events import Created
from ensample.experiments.learner import Learner
from ensample.experiments.settings import Settings
from ensample.experiments.state import Observation, Open, State
from ensample.experiments.storage.base import Reading, Snapshot
from ensample.plain_data import parse_json
from ensample.policies.tensors import (
    Tensors,
    checksum,
    storable,
    tensors_from_bytes,
    tensors_to_bytes,
)
from ensample.types import FloatArray, IntArray

PIECE = 100  # open decisions, a third of a millisecond
REST, RESTS = 0.002, 1.0  # seconds between two pieces, and at most between all of one kind
OPEN = ("id", "round", "deadline", "action", "active", "total", "rewards", "keys")
"""The fields of an open decision that are written as JSON; the others are arrays."""

T = TypeVar("T")


class Captured(NamedTuple):
    """A copy of a state, which goes on meanwhile."""

    words: dict[str, Any]
    open: list[Open]
    past: list[Observation]
    arrays: Tensors  # of the model
    time: int  # of the latest event


def captured(state: State) -> Captured:
    """Copy a state: a millisecond for 100,000 open decisions.

    They are shared, as nobody changes one: another takes its place.
    """
    seen = state.featuriser.seen
    words = {
        "seq": state.seq,
        "round": state.round,
        "version": state.learner.version,
        "dim": state.learner.dim,
        "grows": state.grows,
        "actions": [[name, features] for name, features in state.actions.items()],
        "counts": dict(state.counts),
        "seen": [list(entry) for entry in seen.order],
        "fixed": seen.fixed,
    }
    arrays = {name: values.copy() for name, values in state.learner.arrays().items()}
    return Captured(words, list(state.open.values()), list(state.past), arrays, state.time)


def contents(moment: Captured, gently: bool = False) -> tuple[str, Tensors]:
    """Return the words and arrays of a state.

    `gently`: with rests, for threads that decide meanwhile and wait for the end of each piece.
    """
    parts = {name: json.dumps(value, sort_keys=True) for name, value in moment.words.items()}
    parts["open"] = open_words(moment.open, gently)
    words = ", ".join(f'"{name}": {parts[name]}' for name in sorted(parts))
    tensors: Tensors = {f"model.{name}": values for name, values in moment.arrays.items()}
    tensors |= packed("open", moment.open, gently) | packed("past", moment.past, gently)
    tensors["past.round"] = np.array([item.round for item in moment.past], np.int64)
    tensors["past.y"] = np.array([item.y for item in moment.past], np.float64)
    return f"{{{words}}}", {name: storable(name, values) for name, values in tensors.items()}


def open_words(items: list[Open], gently: bool) -> str:
    pieces = []
    for piece in pieces_of(items, gently):
        rows = [[getattr(item, field) for field in OPEN] for item in piece]
        pieces.append(json.dumps(rows)[1:-1])
    return f"[{', '.join(pieces)}]"


def pieces_of(items: Sequence[T], gently: bool) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), PIECE):
        yield items[start : start + PIECE]
        if gently and start + PIECE < len(items):
            time.sleep(min(REST, RESTS * PIECE / len(items)))


def packed(part: str, items: Sequence[Open | Observation], gently: bool) -> Tensors:
    """Return rows with few entries as arrays, one row after the other."""
    lengths, columns, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for piece in pieces_of(items, gently):
        lengths.append(np.array([len(item.columns) for item in piece], np.int64))
        columns.append(np.concatenate([item.columns for item in piece]).astype(np.int64))
        numbers.append(np.concatenate([item.numbers for item in piece]))
    return {
        f"{part}.lengths": np.concatenate(lengths),
        f"{part}.columns": np.concatenate(columns),
        f"{part}.numbers": np.concatenate(numbers),
    }


def unpacked(part: str, tensors: Tensors) -> list[tuple[IntArray, FloatArray]]:
    if not len(tensors[f"{part}.lengths"]):
        return []
    ends = np.cumsum(tensors[f"{part}.lengths"])[:-1]
    columns = np.split(tensors[f"{part}.columns"], ends)
    return list(zip(columns, np.split(tensors[f"{part}.numbers"], ends), strict=True))


def state_hash(state: State) -> str:
    """Return the SHA-256 of everything that the state is."""
    return checksum(*contents(captured(state)))


def snapshot_of(moment: Captured, gently: bool = False) -> Snapshot:
    words, tensors = contents(moment, gently)
    metadata = {"content": words, "time": str(moment.time)}  # the time is in no hash
    content = tensors_to_bytes(tensors, metadata)
    return Snapshot(moment.words["seq"], content, checksum(words, tensors))


def restored(settings: Settings, snapshot: Snapshot) -> State:
    """Return the state that a snapshot holds; its hash is computed again."""
    metadata, tensors = tensors_from_bytes(snapshot.content or b"")
    words = metadata["content"]
    if checksum(words, tensors) != snapshot.hash:
        after = f"the snapshot after {snapshot.seq} events"
        raise SnapshotError(f"{after} is damaged: its hash does not fit")
    found, state = parse_json("content", words), State(settings)
    state.time = int(metadata.get("time", 0))  # earlier releases kept none
    state.seq, state.round, state.grows = found["seq"], found["round"], found["grows"]
    state.actions = {name: features for name, features in found["actions"]}
    state.standing, state.counts = tuple(state.actions), found["counts"]
    state.featuriser.seen.restore([(field, name) for field, name in found["seen"]], found["fixed"])
    state.mark = state.featuriser.mark
    state.learner = Learner(settings.recipe, found["dim"], settings.stream_seed)
    model = {name: values for name, values in tensors.items() if name.startswith("model.")}
    arrays = {name.removeprefix("model."): values for name, values in model.items()}
    state.learner.restore(arrays, found["version"])
    rounds, ys = tensors["past.round"].tolist(), tensors["past.y"].tolist()
    past = zip(rounds, unpacked("past", tensors), ys, strict=True)
    state.past = [Observation(round, *row, y) for round, row, y in past]
    for values, (columns, numbers) in zip(found["open"], unpacked("open", tensors), strict=True):
        fields = dict(zip(OPEN, values, strict=True)) | {"columns": columns, "numbers": numbers}
        waiting = Open(**fields | {"keys": tuple(fields["keys"])})
        state.open[waiting.id] = waiting
        if waiting.deadline is not None:
            heapq.heappush(state.due, (waiting.deadline, waiting.round, waiting.id))
    return state


def creation(storage: Reading) -> Created:
    """Return the first event."""
    first = next(iter(storage.read()))
    if not isinstance(first, Created):
        raise SnapshotError("the first event does not say what the experiment is")
    return first


def nearest(settings: Settings, storage: Reading, round: float = math.inf) -> State:
    """Return the latest snapshot's state before a round; without one, that of no events.

    Snapshots of earlier releases whose model is not finite are skipped: `State` leaves out the
    reward that made it so.
    """
    for item in storage.snapshots():
        if item.content is not None:
            state = restored(settings, item)
            if state.round <= round and state.learner.is_finite():
                return state
    return State(settings)


def folded(settings: Settings, storage: Reading) -> State:
    """Return the present state: the latest finite snapshot, and the events after it."""
    state = nearest(settings, storage)
    events = iter(storage.read(max(0, state.seq - 1)))
    if state.seq:
        state.time = max(state.time, next(events).time)
    for event in events:
        state.apply(event)
    return state


def replayed(
    settings: Settings, storage: Reading, progress: Callable[[], object] = lambda: None
) -> tuple[State, int]:
    """Take in all events; raise `SnapshotError` unless the hash of each snapshot is equal.

    Return the state and the number of equal hashes. Where this version leaves out a reward that an
    earlier release learned (`State.left_out`), that release's snapshots without a finite model are
    skipped, until a hash is equal again.
    """
    kept = {item.seq: item for item in storage.snapshots()}
    state, compared, is_equal_again = State(settings), 0, False
    for event in storage.read():
        state.apply(event)
        found = kept.get(state.seq)
        if found is not None and state_hash(state) == found.hash:
            compared += 1
            is_equal_again = state.left_out > 0
        elif found is not None:
            must_be_equal = is_equal_again or not state.left_out
            if must_be_equal or was_finite(settings, found):
                said = f"the state after {state.seq} events is not the one that was kept"
                raise SnapshotError(said)
        progress()
    return state, compared


def was_finite(settings: Settings, snapshot: Snapshot) -> bool:
    """Return True if the snapshot has its content, with a model that is finite."""
    return snapshot.content is not None and restored(settings, snapshot).learner.is_finite()


def verified(settings: Settings, storage: Reading, present: State) -> None:
    """Take in all events again; raise unless the hashes of snapshots and present state agree."""
    state, _ = replayed(settings, storage)
    if state_hash(state) != state_hash(present):
        raise SnapshotError(f"the present state is not what its {state.seq} events come to")
