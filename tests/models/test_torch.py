"""Networks by torch: the twin of ours, and what is asked of a user's own modules."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

import ensample as es
from conformance.policies import FEATURES, fingerprint, play, reward
from ensample.models.networks import Networks
from ensample.models.torch_model import NumpyTrainedEnsemble
from ensample.perturbations import Gaussian
from ensample.randomness import Address

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[neural]'")


def perceptron(d: int):
    return torch.nn.Sequential(
        torch.nn.Linear(d, 4),
        torch.nn.ReLU(),
        torch.nn.Linear(4, 3),
        torch.nn.ReLU(),
        torch.nn.Linear(3, 1),
    )


def curved(d: int):
    return torch.nn.Sequential(
        torch.nn.LayerNorm(d), torch.nn.Linear(d, 5), torch.nn.GELU(), torch.nn.Linear(5, 1)
    )


SMALL = es.TorchModel(perceptron, prior=1.0, batch=8, memory=12)
RECIPE = es.EnsembleSampling(4, model=SMALL)


def as_torch(ours: Networks, weights: np.ndarray) -> np.ndarray:
    """Weights of ours as torch lays them out: [m, out, in] and [m, out] of each layer."""
    parts = []
    for layer in ours.layers(weights):
        parts += [layer.matrix.mT.ravel(), layer.bias.ravel()]
    return np.concatenate(parts)


def twins(dim: int, size: int):
    """Networks of ours, and torch's that are drawn as they are."""
    from ensample.models.torch_nets import TorchNets

    class Twins(TorchNets):
        def draw(self, rng):
            return as_torch(ours, ours.draw(rng))

        def spreads(self):
            return as_torch(ours, ours.spreads())

    ours = Networks(dim, (4, 3), "relu", size)
    return ours, Twins(perceptron, dim, size, np.random.default_rng(0))


def test_torch_computes_what_we_do() -> None:
    ours, theirs = twins(3, 5)
    rng = np.random.default_rng(1)
    weights, rows, delta = ours.draw(rng), rng.standard_normal((7, 3)), rng.standard_normal((5, 7))
    other = as_torch(ours, weights)
    assert theirs.count == ours.count
    (outputs, gradient_of), (its_outputs, its_gradient_of) = (
        ours.differentiate(weights, rows),
        theirs.differentiate(other, rows),
    )
    np.testing.assert_allclose(its_outputs, outputs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(theirs.outputs(other, rows), outputs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(theirs.member(other, 2, rows), outputs[2], rtol=1e-12, atol=1e-12)
    gradient = as_torch(ours, gradient_of(delta))
    np.testing.assert_allclose(its_gradient_of(delta), gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("standing", [True, False])
@pytest.mark.parametrize("given", [{}, {"optimizer": "sgd", "rate": 0.05}, {"loss": "logistic"}])
def test_ensembles_of_the_same_weights_are_twins(standing: bool, given: dict) -> None:
    """Trained on the same rewards, past a full memory, they stay equal but for rounding."""
    recipe = es.EnsembleSampling(3, model=es.Neural((4, 3), prior=1.0, batch=8, memory=12, **given))
    policy = recipe.start(es.FiniteArms(FEATURES) if standing else es.ChangingArms(3), seed=5)
    _, theirs = twins(3, 3)
    given = policy.model.training, policy.model.schedule, Gaussian(), Address(5), policy.arms.rows
    twin = NumpyTrainedEnsemble(theirs, *given)
    for t in range(40):
        (decision,) = play(policy, 1, t)
        twin.learn(
            decision.round,
            decision.arm if standing else -1,
            decision.features,
            reward(policy, t, decision),
        )
    expected = policy.model.all_scores(FEATURES)
    np.testing.assert_allclose(twin.all_scores(FEATURES), expected, rtol=1e-5, atol=1e-5)
    assert np.abs(twin.all_scores(FEATURES[::-1]) - expected).max() > 1e-3, (
        "the control: other rows have other scores"
    )


def test_gradients_of_a_module_are_those_of_finite_differences() -> None:
    from ensample.models.torch_nets import TorchNets

    rng = np.random.default_rng(2)
    nets = TorchNets(curved, 3, 2, rng)
    weights, rows, target = nets.draw(rng), rng.standard_normal((6, 3)), rng.standard_normal((2, 6))
    outputs, gradient_of = nets.differentiate(weights, rows)
    found = gradient_of(outputs - target)
    for place in range(nets.count):
        step = np.zeros(nets.count)
        step[place] = 1e-6
        losses = [
            0.5 * np.square(nets.outputs(weights + way * step, rows) - target).sum()
            for way in (1.0, -1.0)
        ]
        assert found[place] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_members_begin_apart_and_torch_is_left_alone() -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    policies = [
        es.EnsembleSampling(4, model=es.TorchModel(curved, prior=1.0)).start(
            es.FiniteArms(FEATURES), seed=s
        )
        for s in (0, 0, 1)
    ]
    assert torch.equal(torch.random.get_rng_state(), before)
    scores = [policy.model.all_scores(FEATURES) for policy in policies]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 0.01
    assert np.abs(np.diff(scores[0], axis=1)).max(axis=0).min() > 0.01
    nets = policies[0].model.nets
    rows = np.random.default_rng(0).standard_normal((500, 3))
    assert np.std(nets.outputs(policies[0].model.prior, rows)) / nets.gain == pytest.approx(
        1.0, abs=0.5
    )
    spreads = nets.spreads()
    assert (spreads > 0.0).all()
    assert spreads[0] == 1.0, "what is always drawn alike is pulled with strength 1"


def no_module(d: int) -> object:
    return d


def two_outputs(d: int):
    return torch.nn.Linear(d, 2)


def of_other_rows(d: int):
    return torch.nn.Linear(d + 1, 1)


def with_buffers(d: int):
    return torch.nn.Sequential(torch.nn.BatchNorm1d(d), torch.nn.Linear(d, 1))


def without_parameters(d: int):
    return torch.nn.Flatten(0)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (no_module, "and it made int"),
        (two_outputs, r"of 64 rows it made \(64, 2\)"),
        (of_other_rows, "makes a torch.nn.Module"),
        (with_buffers, "without buffers"),
        (without_parameters, "with parameters"),
    ],
)
def test_modules_that_will_not_do(factory, said: str) -> None:
    with pytest.raises(es.InvalidArgument, match=f"^module_factory = .*{said}"):
        es.EnsembleSampling(3, model=es.TorchModel(factory)).start(es.FiniteArms(FEATURES))
    with pytest.raises(es.WrongType, match="module_factory"):
        es.TorchModel(3)  # type: ignore[arg-type]
    with pytest.raises(es.InvalidArgument, match="batch"):
        es.TorchModel(factory, batch=0)


def test_a_snapshot_goes_on_where_it_was(tmp_path) -> None:
    policy = RECIPE.start(es.FiniteArms(FEATURES), seed=2)
    play(policy, 25)
    policy.save(tmp_path / "policy.safetensors")
    with pytest.raises(es.SnapshotError, match=r"perceptron.*recipe="):
        es.load(tmp_path / "policy.safetensors")
    loaded = es.load(tmp_path / "policy.safetensors", recipe=RECIPE, verify=True)
    assert fingerprint(loaded) == fingerprint(policy)
    for one in (policy, loaded):
        play(one, 10, 25)
    assert fingerprint(loaded) == fingerprint(policy)


def test_what_members_began_with_is_in_the_snapshot(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torch that draws otherwise would pull them elsewhere."""
    policy = RECIPE.start(es.FiniteArms(FEATURES), seed=2)
    play(policy, 25)
    policy.save(tmp_path / "policy.safetensors")
    seeded = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: seeded(seed // 2))
    loaded = es.load(tmp_path / "policy.safetensors", recipe=RECIPE)
    np.testing.assert_array_equal(loaded.model.anchor, policy.model.anchor)
    np.testing.assert_array_equal(loaded.model.prior, policy.model.prior)
    other = RECIPE.start(es.FiniteArms(FEATURES), seed=2)
    assert not np.array_equal(other.model.anchor, policy.model.anchor), (
        "the control: a new policy draws otherwise"
    )


def test_training_that_diverges_is_refused_and_changes_nothing() -> None:
    wild = es.TorchModel(perceptron, optimizer="sgd", rate=1.0, batch=8, steps=100, prior=0.0)
    policy = es.EnsembleSampling(3, 1e9, model=wild).start(es.FiniteArms(100.0 * FEATURES), seed=0)
    rng = np.random.default_rng(0)
    with pytest.raises(es.InvalidArgument, match=r"^rate = 1.0: expected a smaller one"):
        for _ in range(50):
            before = fingerprint(policy)
            policy.update(int(rng.integers(7)), float(rng.standard_normal()))
    assert fingerprint(policy) == before


def test_the_greedy_take_modules_too() -> None:
    for recipe in (es.Greedy(model=SMALL), es.EpsilonGreedy(0.3, model=SMALL)):
        policy = recipe.start(es.FiniteArms(FEATURES))
        play(policy, 10)
        assert policy.model.size == 1 and policy.propensities().sum() == pytest.approx(1.0)


def replayed() -> list[str]:
    """What is learned by a policy, and by its replay."""

    def module(d: int):
        return torch.nn.Sequential(torch.nn.Linear(d, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))

    recipe = es.EnsembleSampling(8, model=es.TorchModel(module))
    policy = recipe.start(es.FiniteArms(np.random.default_rng(0).standard_normal((30, 40))), seed=3)
    for y in np.random.default_rng(1).standard_normal(40).tolist():
        policy.update(policy.decide(), y)
    again = recipe.replay(policy.arms, policy.log(), seed=3)
    return [hashlib.sha256(fingerprint(one)).hexdigest() for one in (policy, again)]


@pytest.mark.long
def test_a_replay_has_the_same_bits_with_the_same_number_of_threads() -> None:
    """In this process, and in another one."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; from models import test_torch;"
        "print(*test_torch.told(1))"
    )
    command = [sys.executable, "-c", code, *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len({*told(1), *done.stdout.split()}) == 1


def told(threads: int) -> list[str]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return replayed()
    finally:
        torch.set_num_threads(before)
