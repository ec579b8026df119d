"""Networks of the core against NumPy, at every instruction-set level."""

import math
from itertools import pairwise

import numpy as np
import pytest

from core.calls import count_of, network_outputs
from ensample import _core
from ensample.models.network_ensemble import Anchor, CoreTraining, NewObservation
from ensample.models.networks import Shape
from ensample.models.training_state import Memory, NetworkState

WIDTHS = [
    (3, 4, 1),
    (2, 9, 8, 1),
    (30, 50, 50, 1),
    (70, 65, 3, 1),
    (5, 130, 1, 1),
    (1, 1, 1),
    (111, 7, 64, 1),
]
Parts = list[tuple[np.ndarray, np.ndarray]]


pytestmark = pytest.mark.usefixtures("level")


def parts_of(shape: Shape, weights: np.ndarray, member: int) -> Parts:
    """Matrices [in, out] and biases [out] of one member: views."""
    parts, begin, m = [], 0, shape.members
    for width, after in pairwise(shape.widths.tolist()):
        middle, end = begin + m * width * after, begin + m * (width + 1) * after
        matrix = weights[begin:middle].reshape(m, width, after)[member]
        parts.append((matrix, weights[middle:end].reshape(m, after)[member]))
        begin = end
    return parts


def activate(shape: Shape, u: np.ndarray) -> np.ndarray:
    return [np.maximum(u, 0.0), np.where(u > 0.0, u, 0.01 * u), np.tanh(u)][shape.activation]


def slope(shape: Shape, u: np.ndarray) -> np.ndarray:
    return [1.0 * (u > 0.0), np.where(u > 0.0, 1.0, 0.01), 1.0 - np.tanh(u) ** 2][shape.activation]


def passed(
    shape: Shape, parts: Parts, rows: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, Parts]:
    """Outputs [B] of one member, and the gradient of a loss with derivatives `slopes` [B]."""
    before, units = [], [rows]
    for matrix, bias in parts:
        before.append(units[-1] @ matrix + bias)
        units.append(activate(shape, before[-1]))
    errors, gradient = slopes[:, None], []
    for k in reversed(range(len(parts))):
        gradient.insert(0, (units[k].T @ errors, errors.sum(axis=0)))
        if k:
            errors = errors @ parts[k][0].T * slope(shape, before[k - 1])
    return before[-1][:, 0], gradient


def gradient_of(
    shape: Shape, weights: np.ndarray, rows: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    gradient = np.empty(count_of(shape))
    for j in range(shape.members):
        found = passed(shape, parts_of(shape, weights, j), rows, slopes[j])[1]
        for (matrix, bias), (matrices, biases) in zip(
            parts_of(shape, gradient, j), found, strict=True
        ):
            matrix[:], bias[:] = matrices, biases
    return gradient


def outputs_of(shape: Shape, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    outputs = np.empty((shape.members, len(rows)))
    _core.network_outputs(shape, weights, 0, rows, outputs)
    return outputs


def drawn(shape: Shape, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, features and slopes, with zeros among them."""
    rng = np.random.default_rng(count)
    weights = rng.standard_normal(count_of(shape)) / math.sqrt(shape.widths.max())
    rows = rng.standard_normal((count, shape.widths[0])) * (
        rng.random((count, shape.widths[0])) < 0.8
    )
    return weights, rows, rng.standard_normal((shape.members, count)) * (rng.random(count) < 0.9)


@pytest.mark.parametrize("count", [1, 15, 16, 63, 64, 65, 131])
@pytest.mark.parametrize("activation", [0, 1, 2])
@pytest.mark.parametrize("widths", WIDTHS)
def test_outputs_and_gradients_are_those_of_numpy(
    widths: tuple[int, ...], activation: int, count: int
) -> None:
    shape = Shape(np.array(widths), 3, activation)
    weights, rows, slopes = drawn(shape, count)
    outputs, gradient = outputs_of(shape, weights, rows), np.full(count_of(shape), np.nan)
    _core.network_gradient(shape, weights, rows, slopes, gradient)
    for j in range(3):
        expected, _ = passed(shape, parts_of(shape, weights, j), rows, slopes[j])
        np.testing.assert_allclose(outputs[j], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        gradient, gradient_of(shape, weights, rows, slopes), rtol=1e-10, atol=1e-11
    )


def observed(shape: Shape, planes: int, places: np.ndarray, prior: bool = False) -> dict:
    """Arguments of a call of `network_learn` with features in units."""
    rng, d, m, n = np.random.default_rng(5), int(shape.widths[0]), shape.members, count_of(shape)
    state = NetworkState(np.zeros((planes, n)), np.zeros(4 * d + 4), np.array([6, 11, 5, 5]))
    state.weights[0] = drawn(shape, 1)[0]
    state.numbers[:d], state.numbers[-3:] = 1.0, [0.3, 7.0, 0.2]
    additions = rng.standard_normal((2, 12, m))
    memory = Memory(
        rng.standard_normal((12, d)),
        rng.random(12),
        np.arange(12),
        additions[0],
        additions[1][:, : m * prior].copy(),
    )
    units = np.ones((3, d))
    newest = NewObservation(
        rng.standard_normal(d), 0.8, 6, 7, rng.standard_normal(m * prior), units, places
    )
    return {
        "shape": shape,
        "training": CoreTraining(0, 0.05, 0.5, True, 0.75, True, 0.0),
        "anchor": Anchor(state.weights[0] + 0.1, np.array([n // 2, n]), np.array([1.0, 2.0])),
        "state": state,
        "memory": memory,
        "observation": newest,
        "workspace": np.empty(_core.network_workspace(shape, planes, places.shape[1])),
    }


PLACES = [
    np.array([[0, 3, 3, 7, 11]]),
    np.array([[1, 2, 2], [7, 0, 9], [4, 4, 4]]),
    np.tile(np.arange(12), (1, 6)),
]


def test_adam_takes_doubles_where_squares_are_no_single_numbers() -> None:
    arguments = observed(Shape(np.array([2, 9, 1]), 2, 0), 3, PLACES[0])
    arguments["training"] = arguments["training"]._replace(learns_scale=False, scale=1e60)
    before = arguments["state"].weights[0].copy()
    assert _core.network_learn(**arguments)
    state = arguments["state"].weights
    large = state[2] > 1e36
    assert large.any() and np.isfinite(state).all()
    first = 0.05 * math.sqrt(1.0 - 0.999**12) / (1.0 - 0.9**12)
    np.testing.assert_allclose(
        (before - state[0])[large], first * state[1][large] / np.sqrt(state[2][large]), rtol=1e-12
    )


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("planes", [1, 3])
def test_large_gradients_leave_weights_finite(planes: int, places: np.ndarray) -> None:
    """Gradients below 1e150 are learned: their squares are finite."""
    arguments = observed(Shape(np.array([3, 9, 5, 1]), 3, 0), planes, places[:1])
    arguments["training"] = arguments["training"]._replace(learns_scale=False, scale=1e145)
    before = arguments["state"].weights[0].copy()
    assert _core.network_learn(**arguments)
    assert np.isfinite(arguments["state"].weights).all()
    assert (arguments["state"].weights[0] != before).any()


@pytest.mark.parametrize("scale", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("planes", [1, 3])
def test_gradient_that_is_not_finite_changes_nothing(
    planes: int, places: np.ndarray, scale: float
) -> None:
    arguments = observed(Shape(np.array([3, 9, 5, 1]), 3, 0), planes, places)
    arguments["training"] = arguments["training"]._replace(learns_scale=False, scale=scale)
    changed = (*arguments["state"], *arguments["memory"])
    before = [values.copy() for values in changed]
    assert not _core.network_learn(**arguments)
    for values, old in zip(changed, before, strict=True):
        np.testing.assert_array_equal(values, old)


BAD = {
    "shape.widths": np.array([3, 0, 1]),
    "shape.activation": 3,
    "training.loss": 2,
    "anchor.ends": np.array([3, 9]),
    "state.weights": np.zeros((2, 8)),
    "state.counts": np.array([-1, 0, 0, 0]),
    "memory.prior_outputs": np.zeros((12, 2)),
    "observation.places": np.array([[12]]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_call_names_the_argument(name: str) -> None:
    arguments = observed(Shape(np.array([3, 9, 5, 1]), 3, 0), 3, PLACES[0])
    owner, _, field = name.partition(".")
    arguments[owner] = arguments[owner]._replace(**{field: BAD[name]})
    with pytest.raises(ValueError, match=f"argument `{field}`: expected"):
        _core.network_learn(**arguments)


@pytest.mark.parametrize("first", [-1, 3, 1 << 62])
def test_member_that_is_not_there_is_refused(first: int) -> None:
    arguments = network_outputs(np.random.default_rng(0))
    shape = arguments["shape"]._replace(members=3)
    weights, outputs = np.zeros(count_of(shape)), np.zeros((1, len(arguments["rows"])))
    with pytest.raises(ValueError, match="argument `first`: expected"):
        _core.network_outputs(shape, weights, first, arguments["rows"], outputs)
