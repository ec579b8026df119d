"""The logistic ensemble against its definitions: the stream fit, the exact fit, special cases and hard data."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ensample as es
from ensample.models.glm import GeneralizedLinear
from ensample.randomness import Address, Stream
from naive.generalized import exact_fit, perturbed_loss, sigmoid, stream_fit

FEATURES = np.random.default_rng(1).standard_normal((6, 3))
KINDS = {"finite": es.FiniteArms(FEATURES), "changing": es.ChangingArms(3), "ball": es.UnitBall(3)}


@dataclass(frozen=True)
class Identity(es.GeneralizedLinear):
    """A(u) = u^2 / 2: the linear model with noise 1."""

    def mean(self, u):
        return u

    def slope(self, u):
        return np.ones_like(u)


@dataclass(frozen=True)
class SlowLogistic(es.Logistic):
    """A link that the core does not know."""

    code: ClassVar[int | None] = GeneralizedLinear.code


def clicked(recipe: es.Recipe, kind: str, rounds: int = 40, soft: bool = False) -> es.Policy:
    """A policy that was rewarded with clicks, or with numbers between 0 and 1."""
    policy, rng = recipe.start(KINDS[kind], seed=2), np.random.default_rng(3)
    for _ in range(rounds):
        decision = policy.decide(rng.standard_normal((4, 3)) if kind == "changing" else None)
        chance = sigmoid(decision.features @ [1.0, -1.0, 0.5])
        policy.update(
            decision, float(rng.beta(chance, 1 - chance)) if soft else rng.random() < chance
        )
    return policy


def drawn(policy: es.Policy, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """W [m, d] and Z [n, m] as the policy drew them, in the order of its log."""
    model = policy.model
    W = np.sqrt(lam) * model.initial.draw_vectors(
        Address(2).generator(Stream.INITIAL, 0), model.size, 3
    )
    return W, np.array([model.perturbations(int(round)) for round in policy.log().round])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("soft", "lam"), [(False, 1.0), (True, 0.01)])
def test_the_stream_fit_is_its_definition(kind: str, soft: bool, lam: float) -> None:
    recipe = es.EnsembleSampling(7, 0.8, lam, model=es.Logistic())
    policy = clicked(recipe, kind, 60, soft)
    log = policy.log()
    theta, V, members = stream_fit(log.features, log.reward, lam, *drawn(policy, lam))
    assert_allclose(policy.mean, theta, rtol=1e-9, atol=1e-10)
    assert_allclose(policy.gram, V, rtol=1e-9, atol=1e-12)
    assert_allclose(policy.estimates, members, rtol=1e-8, atol=1e-9)
    assert_allclose(policy.model.scores(3, FEATURES), sigmoid(FEATURES @ members[3]), rtol=1e-8)


def test_a_half_life_is_its_definition() -> None:
    recipe = es.EnsembleSampling(5, 0.8, 0.5, model=es.Logistic(), half_life=9)
    policy = clicked(recipe, "finite", 50)
    log, model = policy.log(), policy.model
    fresh = np.array([model._vectors(Stream.FADING, int(round)).T for round in log.round])
    found = stream_fit(
        log.features, log.reward, 0.5, *drawn(policy, 0.5), kept=2 ** (-1 / 9), fresh=fresh
    )
    for ours, expected in zip((policy.mean, policy.gram, policy.estimates), found, strict=True):
        assert_allclose(ours, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("half_life", [None, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_with_gaussian_rewards_it_is_algorithm_one(kind: str, half_life: float | None) -> None:
    linear = es.EnsembleSampling(8, 0.6, 2.0, half_life=half_life)
    ours = es.EnsembleSampling(8, 0.6, 2.0, model=Identity(), half_life=half_life)
    one = linear.start(KINDS[kind], 4)
    other = ours.start(KINDS[kind], 4)
    rng = np.random.default_rng(0)
    for _ in range(40):
        offered = rng.standard_normal((4, 3)) if kind == "changing" else None
        decisions = one.decide(offered), other.decide(offered)
        assert decisions[0].arm == decisions[1].arm
        assert_allclose(decisions[0].features, decisions[1].features, atol=1e-9)
        y = float(rng.normal())
        one.update(decisions[0], y)
        other.update(decisions[1], y)
    for name in ("mean", "gram", "estimates"):
        assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-10, atol=1e-10)


def test_one_round_is_one_ridge_step_from_the_working_response() -> None:
    x, y, lam = FEATURES[0], 1.0, 0.7
    policy = es.EnsembleSampling(4, 0.5, lam, model=es.Logistic()).start(KINDS["finite"], 2)
    W, _ = drawn(policy, lam)
    assert_allclose(policy.estimates, W / lam, rtol=1e-12)
    policy.update(0, y)
    v = x @ policy.mean
    assert v + x @ x / lam * (sigmoid(v) - y) == pytest.approx(0.0, abs=1e-12)
    w = sigmoid(v) * sigmoid(-v)
    linear = es.EnsembleSampling(4, 0.5, lam).start(es.FiniteArms(np.sqrt(w) * FEATURES[:1]), 2)
    linear.update(0, np.sqrt(w) * v - (sigmoid(v) - y) / np.sqrt(w))
    assert_allclose(policy.estimates, linear.estimates, rtol=1e-10)


@pytest.mark.parametrize("fit", ["stream", "exact"])
def test_python_and_the_core_know_the_same_link(fit: str) -> None:
    fast, slow = (
        es.EnsembleSampling(5, 0.8, 0.1, model=kind(fit)) for kind in (es.Logistic, SlowLogistic)
    )
    one, other = clicked(fast, "finite"), clicked(slow, "finite")
    assert_allclose(other.estimates, one.estimates, rtol=1e-9, atol=1e-11)
    assert np.array_equal(one.log().arm, other.log().arm)


@pytest.mark.parametrize("fit", ["stream", "exact"])
@pytest.mark.parametrize("rewards", ["zeros", "ones", "separable"])
@pytest.mark.parametrize("lam", [1e-6, 1.0])
def test_separable_data_stay_finite(fit: str, rewards: str, lam: float) -> None:
    policy = es.EnsembleSampling(6, 1.0, lam, model=es.Logistic(fit)).start(KINDS["finite"], 0)
    for t in range(600):
        arm = t % 6 if t < 300 else policy.decide().arm
        policy.update(arm, {"zeros": 0, "ones": 1, "separable": FEATURES[arm, 0] > 0}[rewards])
    assert np.isfinite(policy.estimates).all() and np.isfinite(policy.mean).all()
    assert np.abs(FEATURES @ policy.mean).max() < 100
    signs = {"zeros": -np.ones(6), "ones": np.ones(6), "separable": np.sign(FEATURES[:, 0])}[
        rewards
    ]
    if rewards == "separable":
        assert (np.sign(FEATURES @ policy.mean) == signs).all()
    assert policy.propensities().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_fit_minimises_each_members_perturbed_loss(kind: str) -> None:
    for lam, soft in ((1.0, False), (0.02, True)):
        policy = clicked(
            es.EnsembleSampling(9, 0.8, lam, model=es.Logistic("exact")), kind, 50, soft
        )
        log, model = policy.log(), policy.model
        shifts = (model.stream.sums[:3] + model.stream.sums[3:6]).T
        assert_allclose(
            policy.mean, exact_fit(log.features, log.reward, lam, np.zeros(3)), atol=1e-8
        )
        for shift, theta in zip(shifts, policy.estimates, strict=True):
            assert_allclose(theta, exact_fit(log.features, log.reward, lam, shift), atol=1e-8)
            assert (
                np.abs(perturbed_loss(theta, log.features, log.reward, lam, shift)[1]).max() < 1e-9
            )
        assert_allclose(model.inverse @ policy.gram, np.eye(3), atol=1e-9)


def test_the_exact_fit_of_standing_and_other_arms_with_a_half_life() -> None:
    policy = es.EnsembleSampling(4, 0.8, 0.5, model=es.Logistic("exact"), half_life=10).start(
        KINDS["finite"], 2
    )
    rng = np.random.default_rng(0)
    for t in range(30):
        policy.update(t % 6, rng.random() < 0.5)
    standing = policy.mean
    log = policy.log()
    shares = 2.0 ** (-np.arange(30)[::-1] / 10)
    X, Y = np.sqrt(shares)[:, None] * log.features, log.reward
    gradient = log.features.T @ (shares * (sigmoid(log.features @ standing) - Y)) + 0.5 * standing
    assert X.shape == (30, 3) and np.abs(gradient).max() < 1e-9
    policy.update([0.3, 0.2, 0.1], 1.0)
    log, shares = policy.log(), 2.0 ** (-np.arange(31)[::-1] / 10)
    gradient = (
        log.features.T @ (shares * (sigmoid(log.features @ policy.mean) - log.reward))
        + 0.5 * policy.mean
    )
    assert np.abs(gradient).max() < 1e-9 and not np.array_equal(policy.mean, standing)


def test_other_features_need_the_log_of_an_exact_fit(tmp_path) -> None:
    recipe = es.EnsembleSampling(4, model=es.Logistic("exact"))
    with pytest.raises(es.InvalidArgument, match=r"^log = None: expected True"):
        recipe.start(KINDS["changing"], log=None)
    policy = recipe.start(KINDS["finite"], log=None)
    policy.update(0, 1)
    before = policy.mean
    with pytest.raises(es.InvalidArgument, match=r"^arm = .*the number of a standing arm"):
        policy.update([0.3, 0.2, 0.1], 1.0)
    assert policy.version == 1 and np.array_equal(policy.mean, before)
    policy = recipe.start(KINDS["finite"])
    policy.update([0.3, 0.2, 0.1], 1.0)
    policy.save(tmp_path / "short", log=False)
    with pytest.raises(es.SnapshotError, match="its log"):
        es.load(tmp_path / "short")


def test_a_fit_that_has_not_converged_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = clicked(es.EnsembleSampling(3, model=SlowLogistic("exact")), "finite", 10)
    monkeypatch.setattr("ensample.models.exact.MAX_STEPS", 1)
    policy.update(0, 1.0)
    with pytest.warns(es.ConvergenceWarning, match="not converged to 1e-10 in 1 steps"):
        _ = policy.mean


@pytest.mark.parametrize("wrong", [-1e-9, 1.5, -1, 2])
def test_rewards_are_between_0_and_1(wrong: float) -> None:
    for fit in ("stream", "exact"):
        policy = clicked(es.EnsembleSampling(4, model=es.Logistic(fit)), "finite", 5)
        before = {name: values.copy() for name, values in policy.model.arrays().items()}
        with pytest.raises(
            es.InvalidArgument, match=r"^reward = .*expected a number from 0 to 1 for Logistic\(\)"
        ):
            policy.update(0, wrong)
        with pytest.raises(
            es.InvalidArgument,
            match=r"^rewards\[1\] = .*expected a number from 0 to 1 for Logistic\(\)",
        ):
            policy.update_many([0, 1, 2], [1.0, wrong, 0.0])
        assert policy.version == 5 and policy.round == 5
        assert all(
            np.array_equal(values, before[name]) for name, values in policy.model.arrays().items()
        )


def test_bad_fields_are_refused() -> None:
    with pytest.raises(
        es.InvalidArgument, match=r"^fit = 'newton': expected one of 'stream', 'exact'"
    ):
        es.Logistic("newton")
    with pytest.raises(es.InvalidArgument, match="always 1"):
        es.EnsembleSampling(model=es.Logistic(), intercept=True)


@pytest.mark.parametrize("fresh", [False, True])
def test_auto_is_the_boldness_and_a_quarter_of_the_arms_mean_square(fresh: bool) -> None:
    auto = es.EnsembleSampling(model=es.Logistic(), fresh=fresh)
    policy = auto.start(KINDS["finite"])
    lam = 0.25 * np.square(FEATURES).sum(axis=1).mean()
    assert not auto.calibrates and auto.unit_scale == 0.75
    assert_allclose(np.diag(policy.gram), lam, rtol=1e-12)
    spread = np.cov(
        es.EnsembleSampling(20_000, model=es.Logistic(), fresh=fresh)
        .start(KINDS["finite"])
        .estimates.T
    )
    assert_allclose(
        spread, auto.unit_scale**2 / lam * np.eye(3), atol=0.05 * auto.unit_scale**2 / lam
    )
    for arms, expected in (
        (es.UnitBall(3), 0.25),
        (es.ChangingArms(3), 0.5),
        (es.Box([-1, 0], [1, 2]), 0.75),
    ):
        assert_allclose(np.diag(auto.start(arms).gram), expected)


def test_multiplying_the_features_by_a_constant_changes_no_decision() -> None:
    for fit, fresh in (("stream", True), ("stream", False), ("exact", False)):
        recipe = es.EnsembleSampling(8, model=es.Logistic(fit), fresh=fresh)
        rng = np.random.default_rng(0)
        one, other = (recipe.start(es.FiniteArms(unit * FEATURES), seed=0) for unit in (1, 64))
        for _ in range(60):
            decisions = one.decide(), other.decide()
            assert decisions[0].arm == decisions[1].arm
            y = rng.random() < 0.3
            for policy, decision in zip((one, other), decisions, strict=True):
                policy.update(decision, y)
