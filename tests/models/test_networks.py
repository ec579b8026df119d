"""Batched networks against finite differences, and against a loop over single ones."""

import gc
import weakref

import numpy as np
import pytest

import ensample as es
from conformance.policies import FEATURES
from ensample.kernels.descent import HUGE, Moving, Pull, descend, stride
from ensample.kernels.live import BITS, FEW, LEAST
from ensample.kernels.minibatches import merge
from ensample.kernels.passes import backward, forward, turn
from ensample.models.nets import Nets
from ensample.models.networks import ACTIVATIONS, Networks
from ensample.randomness import Address, Stream
from naive.networks import NaiveEnsemble, SingleNetwork

SHAPES = [(3, (4,), 2), (2, (5, 3), 3), (4, (3, 6, 2), 1)]
WIDE = [(2, (50, 41), 2), (2, (33, 64), 2), (2, (9, 50, 8), 2), (2, (65, 3), 2)]  # whose rows fill registers in all ways
NARROW = [(2, (50, 1), 4), (2, (40, 7, 2), 3)]  # whose rows are padded to more than twice their length
MANY = [(100, (50, 9), 2), (16, (33,), 2), (56, (7,), 3), (111, (56, 50), 2), (57, (50,), 1)]  # features, in pieces or not


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("dim", "hidden", "size"), SHAPES)
def test_gradients_are_those_of_finite_differences(dim: int, hidden: tuple[int, ...], size: int, activation: str) -> None:
    rng = np.random.default_rng(dim)
    nets = Networks(dim, hidden, activation, size)
    weights, rows, target = nets.draw(rng), rng.standard_normal((7, dim)), rng.standard_normal((size, 7))

    def loss(weights: np.ndarray) -> float:
        return 0.5 * float(np.square(nets.outputs(weights, rows) - target).sum())

    tape, outputs = nets.forward(weights, rows)
    found = nets.gradient(weights, rows, tape, outputs - target)
    for place in range(nets.count):
        step = np.zeros(nets.count)
        step[place] = 1e-6
        expected = (loss(weights + step) - loss(weights - step)) / 2e-6
        assert found[place] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    wrong = nets.gradient(weights, rows, tape, outputs - 1.01 * target)
    assert np.abs(wrong - found).max() > 1e-4, "the control: another loss has another gradient"


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("dim", "hidden", "size"), SHAPES)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_training_together_is_training_one_by_one(
    dim: int, hidden: tuple[int, ...], size: int, activation: str, optimizer: str
) -> None:
    rng = np.random.default_rng(7)
    nets = Networks(dim, hidden, activation, size)
    state = np.zeros((3 if optimizer == "adam" else 1, nets.count))
    state[0] = anchor = nets.draw(rng)
    anchor, pull = anchor.copy(), 0.3
    moving = Moving(state, state[:0], anchor, Pull(np.array([3, nets.count]), np.array([1.0, 1.0])))
    singles = [SingleNetwork(nets, anchor, member, activation) for member in range(size)]
    for number in range(1, 21):
        rows, target = rng.standard_normal((6, dim)), rng.standard_normal((size, 6))
        tape, outputs = nets.forward(state[0], rows)
        by_one = [nets.member(state[0], j, rows) for j in range(size)]
        np.testing.assert_allclose(outputs, by_one, rtol=1e-12, atol=1e-12)
        gradient = nets.gradient(state[0], rows, tape, outputs - target)
        assert descend(moving, gradient, stride(pull, 0.05, number))
        for j, single in enumerate(singles):
            gradients = [single.gradient(x, single.output(x) - y) for x, y in zip(rows, target[j], strict=True)]
            total = [sum(parts) for parts in zip(*gradients, strict=True)]
            single.step(total, [pull] * len(total), 0.05, number, optimizer == "adam")
    for j, single in enumerate(singles):
        for k, layer in enumerate(nets.layers(state[0])):
            np.testing.assert_allclose(layer.matrix[j], single.matrices[k], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(layer.bias[j], single.biases[k], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("count", [5, LEAST, BITS, BITS + 1])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("dim", "hidden", "size"), WIDE + NARROW + MANY)
def test_wide_layers_are_those_of_one_by_one(
    dim: int, hidden: tuple[int, ...], size: int, activation: str, few: bool, count: int
) -> None:
    """Where few units are above 0, and zeros are left out on the way forward, back and in gradients, and where most are."""
    rng = np.random.default_rng(11)
    nets = Networks(dim, hidden, activation, size)
    weights, rows, slopes = nets.draw(rng), rng.standard_normal((count, dim)), rng.standard_normal((size, count))
    for layer in nets.layers(weights)[:-1]:
        layer.bias[:] = rng.standard_normal(layer.bias.shape) + (-0.5 if few else 3.0)
    tape, outputs = nets.forward(weights, rows)
    if activation == "relu":
        assert (np.count_nonzero(tape) <= FEW * tape.size) == few, "the case that is meant"
    gradient = nets.layers(nets.gradient(weights, rows, tape, slopes))
    for j in range(size):
        single = SingleNetwork(nets, weights, j, activation)
        np.testing.assert_allclose(outputs[j], [single.output(x) for x in rows], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(nets.member(weights, j, rows), outputs[j], rtol=1e-11, atol=1e-11)
        parts = [sum(found) for found in zip(*map(single.gradient, rows, slopes[j]), strict=True)]
        for k, layer in enumerate(gradient):
            np.testing.assert_allclose(layer.matrix[j], parts[2 * k], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(layer.bias[j], parts[2 * k + 1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("most", [12, 100])
def test_steps_of_adam_are_those_of_its_definition(most: int) -> None:
    """In doubles, up to what root and quotient lose in single precision; for sizes that lanes divide and others.

    Squares of gradients of 10^100 are no numbers in single precision.
    """
    rng = np.random.default_rng(2)
    for count in (1, 7, 8, 29):
        state, rate = np.zeros((3, count)), 0.05
        state[0] = w = anchor = rng.standard_normal(count)
        moving = Moving(state, state[:0], anchor.copy(), Pull(np.array([count]), np.array([2.0])))
        m = v = np.zeros(count)
        for number in range(1, 31):
            gradient = rng.standard_normal(count) * 10.0 ** rng.integers(-12, most, count)
            before = state[0].copy()
            assert descend(moving, gradient, stride(0.1, rate, number))
            g = gradient + 0.1 * 2.0 * (before - anchor)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            step = rate * m / (1.0 - 0.9**number) / (np.sqrt(v / (1.0 - 0.999**number)) + 1e-8)
            np.testing.assert_allclose(before - state[0], step, rtol=4e-7, atol=1e-14)
            np.testing.assert_allclose(state[1:], [m, v], rtol=1e-9)
        assert np.abs(state[0] - w).max() > rate, "the control: weights move"


@pytest.mark.parametrize("size", [0.99, 1.01])
@pytest.mark.parametrize("planes", [1, 3])
def test_gradients_up_to_the_largest_leave_weights_finite(planes: int, size: float) -> None:
    state = np.zeros((planes, 9))
    moving = Moving(state, state[:0], np.zeros(9), Pull(np.array([9]), np.array([1.0])))
    for number in range(1, 4):
        assert descend(moving, np.full(9, size * HUGE), stride(0.0, 0.1, number)) == (size < 1.0)
    assert np.isfinite(state).all() and (state[0] != 0.0).all() == (size < 1.0)


@pytest.mark.parametrize("gradient", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_no_numbers_are_refused(gradient: float) -> None:
    state = np.zeros((3, 9))
    moving = Moving(state, state[:0], np.zeros(9), Pull(np.array([9]), np.array([1.0])))
    assert not descend(moving, np.append(np.ones(8), gradient), stride(0.0, 0.1, 1)) and not state.any()


@pytest.mark.parametrize(("dim", "hidden", "size"), SHAPES)
def test_rows_without_slopes_add_nothing_to_a_gradient(dim: int, hidden: tuple[int, ...], size: int) -> None:
    rng = np.random.default_rng(dim)
    nets = Networks(dim, hidden, "tanh", size)
    weights, rows, delta = nets.draw(rng), rng.standard_normal((7, dim)), rng.standard_normal((size, 7))
    delta[:, 0] = 0.0
    space = nets.room().fit(7)
    forward(nets.shape, weights, rows, 0, space, np.empty((size, 7)))
    found = []
    for first in (0, 1, 2):
        backward(nets.shape, weights, rows, delta, first, space)
        found.append(space.gradient.copy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)
    assert np.abs(found[2] - found[0]).max() > 1e-3, "the control: the second row has slopes"


MODELS = {
    "adam": es.Neural((4, 3), batch=8, memory=16),
    "prior": es.Neural((4,), "leaky", prior=0.7, batch=5, memory=12, steps=2),
    "sgd": es.Neural((4,), "tanh", optimizer="sgd", rate=0.05, batch=8, memory=16),
    "logistic": es.Neural((4,), loss="logistic", prior=0.3, batch=8, memory=16),
}


@pytest.mark.parametrize("standing", [True, False])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", [{}, {"scale": 0.4, "regularization": 2.0}])
def test_an_ensemble_is_what_its_definition_says(name: str, standing: bool, given: dict) -> None:
    """Past a full memory and past minibatches that are all there is."""
    model, recipe = MODELS[name], es.EnsembleSampling(3, model=MODELS[name], **given)
    policy = recipe.start(es.FiniteArms(FEATURES) if standing else es.ChangingArms(3), seed=5)
    nets, address = policy.model.nets, Address(5)
    anchor, prior = (nets.draw(address.generator(Stream.INITIAL, k)) for k in (0, 1))
    members, priors = ([SingleNetwork(nets, w, j, model.activation) for j in range(3)] for w in (anchor, prior))
    spreads = [float(part.flat[0]) for layer in nets.layers(nets.spreads()) for part in layer]
    rows = FEATURES if standing else None
    twin = NaiveEnsemble(model, address, members, priors, spreads, rows, given.get("scale"), given.get("regularization"))
    rng = np.random.default_rng(0)
    for t in range(30):
        offered = None if standing else rng.standard_normal((4, 3)) * [1.0, 30.0, 0.1 * (t > 3)]
        decision = policy.decide(offered)
        y = float(rng.random() < 0.4) if model.loss == "logistic" else 3.0 + float(decision.features[0] + rng.normal())
        policy.update(decision, y)
        twin.learn(t, decision.features, y)
    for j in range(3):
        for k, layer in enumerate(nets.layers(policy.model.weights[0])):
            np.testing.assert_allclose(layer.matrix[j], members[j].matrices[k], rtol=1e-8, atol=1e-10)
        scores = policy.model.scores(j, FEATURES)
        if standing:
            np.testing.assert_allclose(scores, [twin.score(j, x) for x in FEATURES], rtol=1e-8, atol=1e-10)
            chosen, promises = policy.model.votes(policy.arms)
            assert promises[j] == pytest.approx(scores.max()) and scores[chosen[j]] == pytest.approx(scores.max())


def test_equal_rows_of_a_minibatch_become_one() -> None:
    rng = np.random.default_rng(3)
    different = rng.standard_normal((5, 4))
    different[3], different[4] = [1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0]  # whose keys are equal, 1 = 2 - 1
    drawn = np.concatenate([[2], rng.integers(5, size=30), [3, 4]])
    seen, which = different[drawn], np.empty(33, np.int64)
    count = merge(seen, which)
    assert count == len(set(drawn.tolist())) and which[0] == 0
    np.testing.assert_array_equal(seen[:count][which], different[drawn])


@pytest.mark.parametrize("rows", [1, 4, 7, 50])
@pytest.mark.parametrize("columns", [2, 8, 13])
def test_a_matrix_is_turned(rows: int, columns: int) -> None:
    values = np.random.default_rng(0).standard_normal((rows, columns))
    for longer in (0, 6):
        turned = np.full((columns, rows + longer), np.nan)
        turn(values, turned)
        np.testing.assert_array_equal(turned[:, :rows], values.T)
        assert np.isnan(turned[:, rows:]).all()


@pytest.mark.parametrize("hidden", [(50, 50), (100, 50, 50), (7,), (65, 3, 50), (64, 64, 1), (1, 57)])
@pytest.mark.parametrize("rows", [1, LEAST - 1, LEAST, 100])
def test_one_member_says_what_it_says_among_all(hidden: tuple[int, ...], rows: int) -> None:
    """On the ways that few rows and many take, whatever room there is on each."""
    nets, rng = Networks(9, hidden, "relu", 3), np.random.default_rng(0)
    weights, x = nets.draw(rng), rng.standard_normal((rows, 9))
    expected = nets.outputs(weights, x)
    for j in range(3):
        np.testing.assert_allclose(nets.member(weights, j, x), expected[j], rtol=1e-12, atol=1e-12)
        layers, units = nets.layers(weights), x
        for layer in layers[:-1]:
            units = np.maximum(units @ layer.matrix[j] + layer.bias[j], 0.0)
        np.testing.assert_allclose(expected[j], (units @ layers[-1].matrix[j] + layers[-1].bias[j])[:, 0], atol=1e-10)


@pytest.mark.parametrize("hidden", [(50, 50), (7,)])
def test_weights_and_rooms_go_when_nobody_needs_them(hidden: tuple[int, ...]) -> None:
    """Every call of a kernel that forgot to let go of an array would keep it for ever."""
    nets, rng = Networks(9, hidden, "relu", 3), np.random.default_rng(0)
    weights, x, room = nets.draw(rng), rng.standard_normal((LEAST, 9)), nets.room()
    nets.member(weights, 0, x)
    tape, outputs = nets.forward(weights, x, room)
    gradient = nets.gradient(weights, x, tape, np.ones(outputs.shape), room)
    ends = [weakref.ref(array_of(values)) for values in (weights, gradient)]
    assert all(end() is not None for end in ends)
    del weights, tape, gradient, room
    gc.collect()
    assert all(end() is None for end in ends)


def array_of(values: np.ndarray) -> np.ndarray:
    """That a view is of."""
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


class StepByStep(Networks):
    """Forward, aim, back and a step, one call after the other."""

    step = Nets.step


@pytest.mark.parametrize("name", MODELS)
def test_a_step_in_one_call_is_what_its_parts_are(name: str) -> None:
    """In rounds of several minibatches and of one, but for rounding: in one call rows without slopes are left out."""
    recipe = es.EnsembleSampling(3, model=MODELS[name])
    one, other = (recipe.start(es.ChangingArms(3), seed=4) for _ in range(2))
    other.model.nets.__class__ = StepByStep
    rng = np.random.default_rng(1)
    for _ in range(70):
        rows, y = rng.standard_normal((4, 3)), float(rng.random())
        for policy in (one, other):
            policy.update(policy.decide(rows), y)
    for values, same in zip(one.model.arrays().values(), other.model.arrays().values(), strict=True):
        np.testing.assert_allclose(values, same, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("nets", [Networks, StepByStep])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_that_is_refused_changes_nothing(name: str, nets: type[Networks]) -> None:
    """The weights of one member are so large that its gradients are."""
    policy = es.EnsembleSampling(3, model=MODELS[name]).start(es.ChangingArms(3), seed=4)
    policy.model.nets.__class__ = nets
    rng = np.random.default_rng(1)
    for _ in range(70):
        policy.update(policy.decide(rng.standard_normal((4, 3))), float(rng.random()))
    decision = policy.decide(rng.standard_normal((4, 3)))
    policy.model.nets.layers(policy.model.weights[0])[-1].matrix[-1] = 1e6 * HUGE
    before = {key: values.copy() for key, values in policy.model.arrays().items()}
    with pytest.raises(es.InvalidArgument, match=r"^rate = .*: expected a smaller one"):
        policy.update(decision, 0.5)
    for key, values in policy.model.arrays().items():
        np.testing.assert_array_equal(values, before[key])
