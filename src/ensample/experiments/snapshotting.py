"""The state of an experiment as bytes and back, and its hash: the same wherever the same events were taken in."""

import heapq
import io
import json
from typing import Any

import numpy as np

from ensample.errors import SnapshotError
from ensample.experiments.learner import Learner
from ensample.experiments.settings import Settings
from ensample.experiments.state import Observation, Open, State
from ensample.experiments.storage import Snapshot
from ensample.policies.plain_json import plain_json
from ensample.policies.snapshot import checksum
from ensample.policies.tensor_file import Header, Tensors, read_tensors, storable, write_tensors
from ensample.types import FloatArray, IntArray

__all__ = ["restored", "snapshot_of", "state_hash"]

Sparse = list[tuple[IntArray, FloatArray]]


def contents(state: State) -> tuple[str, Tensors]:
    """All of it: words, and arrays."""
    seen = state.featuriser.seen
    words = {
        "seq": state.seq,
        "round": state.round,
        "version": state.learner.version,
        "dim": state.learner.dim,
        "grows": state.grows,
        "actions": [[name, features] for name, features in state.actions.items()],
        "counts": state.counts,
        "seen": [list(entry) for entry in seen.order],
        "fixed": seen.fixed,
        "open": [
            [item.id, item.round, item.deadline, item.action, item.active, item.total, item.rewards, item.keys]
            for item in state.open.values()
        ],
    }
    tensors: Tensors = {f"model.{name}": values for name, values in state.learner.arrays().items()}
    tensors |= packed("open", [(item.columns, item.numbers) for item in state.open.values()])
    tensors |= packed("past", [(item.columns, item.numbers) for item in state.past])
    tensors["past.round"] = np.array([item.round for item in state.past], np.int64)
    tensors["past.y"] = np.array([item.y for item in state.past], np.float64)
    return json.dumps(words, sort_keys=True), {name: storable(name, values) for name, values in tensors.items()}


def packed(part: str, rows: Sparse) -> Tensors:
    """Rows with few entries, one after the other."""
    nothing: list[Any] = [np.zeros(0)]
    return {
        f"{part}.lengths": np.array([len(columns) for columns, _ in rows], np.int64),
        f"{part}.columns": np.concatenate([*(columns for columns, _ in rows), *nothing]).astype(np.int64),
        f"{part}.numbers": np.concatenate([*(numbers for _, numbers in rows), *nothing]),
    }


def unpacked(part: str, tensors: Tensors) -> Sparse:
    ends = np.cumsum(tensors[f"{part}.lengths"])[:-1]
    columns, numbers = (np.split(tensors[f"{part}.{name}"], ends) for name in ("columns", "numbers"))
    return list(zip(columns, numbers, strict=True)) if len(tensors[f"{part}.lengths"]) else []


def state_hash(state: State) -> str:
    """SHA-256 of everything that the state is."""
    return checksum(*contents(state))


def snapshot_of(state: State) -> Snapshot:
    words, tensors = contents(state)
    file = io.BytesIO()
    write_tensors(file, tensors, {"content": words})
    return Snapshot(state.seq, file.getvalue(), checksum(words, tensors))


def restored(settings: Settings, snapshot: Snapshot) -> State:
    """The state that a snapshot holds; its hash is computed again."""
    words, tensors = opened(snapshot.content or b"")
    if checksum(words, tensors) != snapshot.hash:
        raise SnapshotError(f"the snapshot after {snapshot.seq} events is damaged: its hash does not fit")
    found = plain_json("content", words)
    state = State(settings)
    state.seq, state.round, state.grows = found["seq"], found["round"], found["grows"]
    state.actions = {name: features for name, features in found["actions"]}
    state.standing = tuple(state.actions)
    state.counts = found["counts"]
    state.featuriser.seen.restore([(field, name) for field, name in found["seen"]], found["fixed"])
    state.mark = state.featuriser.mark
    state.learner = Learner(settings.recipe, found["dim"], settings.seed)
    arrays = {name.removeprefix("model."): values for name, values in tensors.items() if name.startswith("model.")}
    state.learner.restore(arrays, found["version"])
    rounds, ys = tensors["past.round"].tolist(), tensors["past.y"].tolist()
    state.past = [Observation(round, *row, y) for round, row, y in zip(rounds, unpacked("past", tensors), ys, strict=True)]
    for (id, round, deadline, action, active, total, rewards, keys), row in zip(
        found["open"], unpacked("open", tensors), strict=True
    ):
        waiting = Open(id, round, deadline, action, *row, active)
        waiting.total, waiting.rewards, waiting.keys = total, rewards, keys
        state.open[id] = waiting
        if deadline is not None:
            heapq.heappush(state.due, (deadline, round, id))
    return state


def opened(content: bytes) -> tuple[str, Tensors]:
    """Words and arrays of what `snapshot_of` wrote."""
    length = int.from_bytes(content[:8], "little")
    found = plain_json("the snapshot's header", content[8 : 8 + length])
    words = found.pop("__metadata__")["content"]
    return words, read_tensors(io.BytesIO(content[8 + length :]), Header({}, found, len(content) - 8 - length))
