"""Valid calls of the bindings of cpp/bindings_models.cpp."""

from itertools import pairwise
from typing import Any

import numpy as np

from ensample import _core
from ensample.models.network_ensemble import Anchor, CoreTraining, NetworkState, NewObservation
from ensample.models.networks import Shape
from ensample.models.replay import Memory

Arguments = dict[str, Any]
HIDDEN = [(1,), (5,), (8,), (9, 3), (20, 17), (70,), (3, 4, 2)]


def shape_of(rng: np.random.Generator) -> Shape:
    hidden = HIDDEN[int(rng.integers(len(HIDDEN)))]
    return Shape(
        np.array([rng.integers(1, 12), *hidden, 1]), int(rng.integers(1, 5)), int(rng.integers(3))
    )


def count_of(shape: Shape) -> int:
    return int(
        shape.members * sum((width + 1) * after for width, after in pairwise(shape.widths.tolist()))
    )


def network_outputs(rng: np.random.Generator) -> Arguments:
    shape, rows = shape_of(rng), int(rng.integers(1, 80))
    first = int(rng.integers(shape.members))
    return {
        "shape": shape,
        "weights": rng.standard_normal(count_of(shape)),
        "first": first,
        "rows": rng.standard_normal((rows, shape.widths[0])),
        "outputs": np.zeros((int(rng.integers(1, shape.members - first + 1)), rows)),
    }


def network_gradient(rng: np.random.Generator) -> Arguments:
    shape, rows = shape_of(rng), int(rng.integers(1, 80))
    return {
        "shape": shape,
        "weights": rng.standard_normal(count_of(shape)),
        "rows": rng.standard_normal((rows, shape.widths[0])),
        "slopes": rng.standard_normal((shape.members, rows)),
        "gradient": np.zeros(count_of(shape)),
    }


def network_workspace(rng: np.random.Generator) -> Arguments:
    return {
        "shape": shape_of(rng),
        "weight_rows": int(rng.choice([1, 3])),
        "batch": int(rng.integers(1, 90)),
    }


def network_learn(rng: np.random.Generator) -> Arguments:
    shape, planes, capacity = shape_of(rng), int(rng.choice([1, 3])), int(rng.integers(1, 40))
    d, m, n, steps, batch = (
        int(shape.widths[0]),
        shape.members,
        count_of(shape),
        int(rng.integers(1, 4)),
        int(rng.integers(1, 70)),
    )
    loss, with_prior = int(rng.integers(2)), int(rng.integers(2))
    state = NetworkState(np.zeros((planes, n)), rng.random(4 * d + 4), np.array([9, 12, 8, 0]))
    state.weights[0] = rng.standard_normal(n)
    ends = np.unique(np.append(rng.integers(1, n + 1, 3), n))
    memory = Memory(
        rng.standard_normal((capacity, d)),
        rng.random(capacity),
        np.arange(capacity),
        rng.standard_normal((capacity, m)),
        rng.standard_normal((capacity, m * with_prior)),
    )
    return {
        "shape": shape,
        "training": CoreTraining(
            loss, 0.01, 0.5, bool(rng.integers(2)), 0.75, bool(rng.integers(2)), 1.0
        ),
        "anchor": Anchor(state.weights[0].copy(), ends, rng.random(ends.size)),
        "state": state,
        "memory": memory,
        "observation": NewObservation(
            rng.standard_normal(d),
            0.5,
            9,
            int(rng.integers(-1, capacity)),
            rng.standard_normal(m * with_prior),
            rng.random((3, d)),
            rng.integers(capacity, size=(steps, batch)),
        ),
        "workspace": np.zeros(_core.network_workspace(shape, planes, batch)),
    }


def scale_rows(rng: np.random.Generator) -> Arguments:
    rows = rng.standard_normal((rng.integers(1, 9), rng.integers(1, 9)))
    return {"rows": rows, "sizes": rng.random(rows.shape[1]), "seen": np.zeros(rows.shape)}


def learn_sizes(rng: np.random.Generator) -> Arguments:
    d = int(rng.integers(1, 9))
    return {
        "units": rng.random((3, d)),
        "x": rng.standard_normal(d),
        "count": int(rng.integers(1, 99)),
    }


CALLS = {
    "learn_sizes": learn_sizes,
    "network_gradient": network_gradient,
    "network_learn": network_learn,
    "network_outputs": network_outputs,
    "network_workspace": network_workspace,
    "scale_rows": scale_rows,
}
