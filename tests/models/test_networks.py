"""Batched networks against finite differences, and against a loop over single ones."""

import numpy as np
import pytest

import ensample as es
from conformance.policies import FEATURES
from ensample.models.networks import ACTIVATIONS, Networks
from ensample.models.torch_model import LARGEST_GRADIENT, NumpyTrainedEnsemble
from ensample.randomness import Address, Stream
from naive.networks import NaiveEnsemble, SingleNetwork

SHAPES = [(3, (4,), 2), (2, (5, 3), 3), (4, (3, 6, 2), 1)]
WIDE = [
    (2, (50, 41), 2),
    (2, (33, 64), 2),
    (2, (9, 50, 8), 2),
    (2, (65, 3), 2),
]  # whose rows fill registers in all ways
NARROW = [
    (2, (50, 1), 4),
    (2, (40, 7, 2), 3),
]  # whose rows are padded to more than twice their length
MANY = [
    (100, (50, 9), 2),
    (16, (33,), 2),
    (56, (7,), 3),
    (111, (56, 50), 2),
    (57, (50,), 1),
]  # features, in pieces or not


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("dim", "hidden", "size"), SHAPES)
def test_gradients_are_those_of_finite_differences(
    dim: int, hidden: tuple[int, ...], size: int, activation: str
) -> None:
    rng = np.random.default_rng(dim)
    nets = Networks(dim, hidden, activation, size)
    weights = nets.draw(rng)
    rows = rng.standard_normal((7, dim))
    target = rng.standard_normal((size, 7))

    def loss(weights: np.ndarray) -> float:
        return 0.5 * float(np.square(nets.outputs(weights, rows) - target).sum())

    outputs, gradient_of = nets.differentiate(weights, rows)
    found = gradient_of(outputs - target)
    for place in range(nets.count):
        step = np.zeros(nets.count)
        step[place] = 1e-6
        expected = (loss(weights + step) - loss(weights - step)) / 2e-6
        assert found[place] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    wrong = gradient_of(outputs - 1.01 * target)
    assert np.abs(wrong - found).max() > 1e-4, "the control: another loss has another gradient"


@pytest.mark.parametrize("count", [5, 16, 64, 65, 130])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("dim", "hidden", "size"), WIDE + NARROW + MANY)
def test_wide_layers_are_those_of_one_by_one(
    dim: int, hidden: tuple[int, ...], size: int, activation: str, few: bool, count: int
) -> None:
    """With few units above 0, whose zeros are skipped everywhere, and with most."""
    rng = np.random.default_rng(11)
    nets = Networks(dim, hidden, activation, size)
    weights = nets.draw(rng)
    rows = rng.standard_normal((count, dim))
    slopes = rng.standard_normal((size, count))
    for layer in nets.layers(weights)[:-1]:
        layer.bias[:] = rng.standard_normal(layer.bias.shape) + (-0.5 if few else 3.0)
    outputs, gradient_of = nets.differentiate(weights, rows)
    gradient = nets.layers(gradient_of(slopes))
    for j in range(size):
        single = SingleNetwork(nets, weights, j, activation)
        np.testing.assert_allclose(
            outputs[j], [single.output(x) for x in rows], rtol=1e-11, atol=1e-11
        )
        np.testing.assert_allclose(
            nets.member(weights, j, rows), outputs[j], rtol=1e-11, atol=1e-11
        )
        parts = [sum(found) for found in zip(*map(single.gradient, rows, slopes[j]), strict=True)]
        for k, layer in enumerate(gradient):
            np.testing.assert_allclose(layer.matrix[j], parts[2 * k], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(layer.bias[j], parts[2 * k + 1], rtol=1e-10, atol=1e-10)


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
    members, priors = (
        [SingleNetwork(nets, w, j, model.activation) for j in range(3)] for w in (anchor, prior)
    )
    spreads = [float(part.flat[0]) for layer in nets.layers(nets.spreads()) for part in layer]
    rows = FEATURES if standing else None
    twin = NaiveEnsemble(
        model,
        address,
        members,
        priors,
        spreads,
        rows,
        given.get("scale"),
        given.get("regularization"),
    )
    rng = np.random.default_rng(0)
    for t in range(30):
        offered = None if standing else rng.standard_normal((4, 3)) * [1.0, 30.0, 0.1 * (t > 3)]
        decision = policy.decide(offered)
        y = (
            float(rng.random() < 0.4)
            if model.loss == "logistic"
            else 3.0 + float(decision.features[0] + rng.normal())
        )
        policy.update(decision, y)
        twin.learn(t, decision.features, y)
    for j in range(3):
        for k, layer in enumerate(nets.layers(policy.model.weights[0])):
            np.testing.assert_allclose(
                layer.matrix[j], members[j].matrices[k], rtol=1e-8, atol=1e-10
            )
        scores = policy.model.scores(j, FEATURES)
        if standing:
            np.testing.assert_allclose(
                scores, [twin.score(j, x) for x in FEATURES], rtol=1e-8, atol=1e-10
            )
            chosen, promises = policy.model.votes(policy.arms)
            assert promises[j] == pytest.approx(scores.max())
            assert scores[chosen[j]] == pytest.approx(scores.max())


@pytest.mark.parametrize(
    "hidden", [(50, 50), (100, 50, 50), (7,), (65, 3, 50), (64, 64, 1), (1, 57)]
)
@pytest.mark.parametrize("rows", [1, 15, 16, 64, 65, 200])
def test_one_member_says_what_it_says_among_all(hidden: tuple[int, ...], rows: int) -> None:
    """Bits do not depend on other rows, so that the first of equal arms is the best."""
    nets, rng = Networks(9, hidden, "relu", 3), np.random.default_rng(0)
    weights, x = nets.draw(rng), rng.standard_normal((rows, 9))
    expected = nets.outputs(weights, x)
    for j in range(3):
        np.testing.assert_array_equal(nets.member(weights, j, x), expected[j])
        np.testing.assert_array_equal(nets.member(weights, j, x[-1:]), expected[j, -1:])
        layers, units = nets.layers(weights), x
        for layer in layers[:-1]:
            units = np.maximum(units @ layer.matrix[j] + layer.bias[j], 0.0)
        np.testing.assert_allclose(
            expected[j], (units @ layers[-1].matrix[j] + layers[-1].bias[j])[:, 0], atol=1e-10
        )


def trained_in_numpy(recipe: es.EnsembleSampling, seed: int) -> es.Policy:
    policy = recipe.start(es.ChangingArms(3), seed=seed)
    policy.model.__class__ = NumpyTrainedEnsemble
    return policy


@pytest.mark.parametrize("name", MODELS)
def test_core_and_numpy_train_alike(name: str) -> None:
    """With several minibatches and one, but for Adam's quotient in single precision."""
    recipe = es.EnsembleSampling(3, model=MODELS[name])
    one, other = recipe.start(es.ChangingArms(3), seed=4), trained_in_numpy(recipe, 4)
    rng = np.random.default_rng(1)
    for _ in range(70):
        rows, y = rng.standard_normal((4, 3)), float(rng.random())
        for policy in (one, other):
            policy.update(policy.decide(rows), y)
    for values, same in zip(
        one.model.arrays().values(), other.model.arrays().values(), strict=True
    ):
        np.testing.assert_allclose(values, same, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("in_numpy", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_that_is_refused_changes_nothing(name: str, in_numpy: bool) -> None:
    """The weights of one member are so large that its gradients are."""
    recipe = es.EnsembleSampling(3, model=MODELS[name])
    policy = trained_in_numpy(recipe, 4) if in_numpy else recipe.start(es.ChangingArms(3), seed=4)
    rng = np.random.default_rng(1)
    for _ in range(70):
        policy.update(policy.decide(rng.standard_normal((4, 3))), float(rng.random()))
    decision = policy.decide(rng.standard_normal((4, 3)))
    policy.model.nets.layers(policy.model.weights[0])[-1].matrix[-1] = 1e6 * LARGEST_GRADIENT
    before = {key: values.copy() for key, values in policy.model.arrays().items()}
    with pytest.raises(es.InvalidArgument, match=r"^rate = .*: expected a smaller one"):
        policy.update(decision, 0.5)
    for key, values in policy.model.arrays().items():
        np.testing.assert_array_equal(values, before[key])
