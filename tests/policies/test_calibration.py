"""Recipes that learn the scales of noise and parameter from the rewards."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import BayesianRidge

import ensample as es
from conformance.policies import offered
from ensample import _core
from ensample.models import LinearEnsemble, LinearModel
from ensample.models.ridge import new_ridge, new_scales, scale_views
from evidence import holds
from naive.calibration import PRIOR_COUNT, Textbook, fixed_point, most_likely
from simulation.test_laws import p_value

FEATURES = np.random.default_rng(3).standard_normal((8, 4)) * [1.0, 5.0, 0.1, 2.0]
THETA = np.array([0.5, -0.1, 3.0, 0.2])
AUTO = {
    "ensemble": es.EnsembleSampling(size=15),
    "ensemble, stored members": es.EnsembleSampling(size=15, fresh=False),
    "ensemble, optimistic": es.EnsembleSampling(size=15, member=es.OptimisticMember()),
    "ensemble, Rademacher": es.EnsembleSampling(size=15, reward=es.Rademacher(0.3)),
    "ensemble, sphere": es.EnsembleSampling(size=15, initial=es.Sphere(7.0)),
    "LinPHE": es.PerturbedHistory(),
    "LinPHE, Rademacher": es.PerturbedHistory(reward=es.Rademacher()),
    "Thompson sampling": es.ThompsonSampling(),
    "LinUCB": es.LinUCB(),
    "information-directed": es.InformationDirected(size=15),
    "information-directed, fresh members": es.InformationDirected(size=15, fresh=True),
    "greedy": es.Greedy(),
}


def data(seed: int, n: int, dim: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, dim))
    return X, X @ rng.standard_normal(dim) + noise * rng.standard_normal(n)


def play(
    recipe: es.Recipe, features: np.ndarray, rounds: int, *, stretch: float = 1.0, seed: int = 0
) -> list[int]:
    """The arms of some rounds; rewards (round, arm) are multiplied by `stretch`."""
    policy = recipe.start(es.FiniteArms(features), seed)
    means = FEATURES @ THETA
    chosen = []
    for t in range(rounds):
        decision = policy.decide()
        policy.update(
            decision,
            stretch * (means[decision.arm] + np.random.default_rng((seed, t)).normal(0.0, 0.5)),
        )
        chosen.append(decision.arm)
    return chosen


def scales_of_core(X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Return sigma^2, tau^2 and gamma by one calibration, after the last observation. Sizes are given as 1."""
    state, scales = new_ridge(X.shape[1], 1.0), new_scales(np.ones(X.shape[1]), 0.0)
    for x, reward in zip(X[:-1], y.tolist(), strict=False):
        _core.learn_ridge(state, x, reward)
    _core.learn_ridge(state, X[-1], float(y[-1]), (scales, 0.0, True, False))
    known = scale_views(scales)
    return float(known.noise[0]), float(known.spread[0]), float(known.effective[0])


def slow_scales(X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Return the same by the textbook, with the bound on tau^2."""
    n, yy = len(y), float(y @ y)
    noise, spread, effective = fixed_point(X.T @ X, X.T @ y, yy, n, yy / n, yy / n)
    return noise, max(spread, yy / float(np.square(X).sum())), effective


@pytest.mark.parametrize("n", [1, 2, 3, 6, 40, 500])
@pytest.mark.parametrize("noise", [0.0, 0.1, 10.0])
def test_the_fixed_point_is_the_slow_one(n: int, noise: float) -> None:
    X, y = data(n, n, 5, noise)
    assert scales_of_core(X, y) == pytest.approx(
        slow_scales(X, y), rel=1e-8, abs=1e-8 * float(y @ y)
    )


def test_collinear_features_are_no_division_by_zero() -> None:
    """What is left of them is rounding, then rounding of rounding, whose squares are 0: 7 of these were NaN."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        dim, n, rank = int(rng.integers(12, 25)), int(rng.integers(5, 60)), int(rng.integers(1, 5))
        X = (
            rng.integers(0, 2, (n, rank))
            @ rng.integers(-2, 3, (rank, dim))
            * np.exp(3.0 * rng.standard_normal(dim))
        )
        X = X / np.where((X != 0.0).any(axis=0), np.sqrt((X**2).mean(axis=0)), 1.0)
        y = np.ones(n)
        if X.any():
            assert scales_of_core(X, y)[:2] == pytest.approx(slow_scales(X, y)[:2], rel=1e-8)


@pytest.mark.parametrize(
    ("n", "dim", "noise"), [(30, 3, 0.3), (30, 3, 3.0), (8, 12, 0.5), (200, 10, 1.0)]
)
def test_the_fixed_point_is_the_most_likely(n: int, dim: int, noise: float) -> None:
    """Iterated to its end, without the bound on tau^2."""
    X, y = data(5, n, dim, noise)
    yy = float(y @ y)
    scales = yy / n, yy / n
    for _ in range(200):
        scales = fixed_point(X.T @ X, X.T @ y, yy, n, *scales)[:2]
    assert scales == pytest.approx(most_likely(X, y), rel=1e-6)


def test_it_is_bayesian_ridge_with_these_priors() -> None:
    X, y = data(9, 60, 6, 0.7)
    n, yy = len(y), float(y @ y)
    m2, x2 = yy / n, float((X**2).sum() / n)
    half = PRIOR_COUNT / 2.0
    ridge = BayesianRidge(
        max_iter=3000,
        tol=1e-14,
        alpha_1=half,
        alpha_2=half * m2,
        lambda_1=half,
        lambda_2=half * m2 / x2,
        fit_intercept=False,
    ).fit(X, y)
    scales = m2, m2
    for _ in range(100):
        scales = fixed_point(X.T @ X, X.T @ y, yy, n, *scales)[:2]
    assert scales == pytest.approx((1.0 / ridge.alpha_, 1.0 / ridge.lambda_), rel=1e-6)


def test_stored_members_are_those_of_the_textbook() -> None:
    policy = es.EnsembleSampling(size=6, fresh=False).start(es.FiniteArms(FEATURES), seed=2)
    model = policy.model
    assert isinstance(model, LinearEnsemble)
    slow = Textbook(np.sqrt((FEATURES**2).mean(axis=0)), model.sums[8:].T.copy(), 0.75)
    rng = np.random.default_rng(0)
    for t in range(120):
        decision = policy.decide()
        y = float(decision.features @ THETA + rng.normal())
        policy.update(decision, y)
        slow.learn(decision.features, y, model.perturbations(t))
        np.testing.assert_allclose(policy.estimates, slow.estimates(), rtol=1e-8, atol=1e-9)
    calibration = policy.calibration
    assert calibration is not None
    assert calibration.sigma == pytest.approx(math.sqrt(slow.noise))
    assert calibration.tau == pytest.approx(math.sqrt(slow.spread))
    assert calibration.lam == pytest.approx(slow.lam) and calibration.count == slow.asked
    assert 0.7 < calibration.sigma < 1.4 and 0.0 < calibration.effective < 4.0


def unlucky(recipe: es.EnsembleSampling) -> list[bool]:
    """Whether arm 1, whose one reward was low, may be played in round n + 1."""
    policy = recipe.start(es.FiniteArms(np.eye(2)), seed=0)
    policy.update(1, 2.5)
    wanted = []
    for t in range(1000):
        wanted.append(bool(policy.propensities()[1] > 0.0))
        policy.update(0, 5.0 + math.sin(t))
    return wanted


def test_an_arm_that_was_unlucky_is_tried_again_if_observations_age() -> None:
    """Negative controls: of stored members, and of fresh ones without ageing, hardly any does."""
    wanted = unlucky(es.EnsembleSampling())
    assert sum(wanted[400:]) > 20
    for recipe in (
        es.EnsembleSampling(fresh=False),
        es.EnsembleSampling(ageing=0.0),
        es.EnsembleSampling(scale=0.6),
    ):
        assert sum(unlucky(recipe)[400:]) < 3


def unrewarded(recipe: es.EnsembleSampling) -> es.Policy:
    """A policy after 30 rewards, of which arm 1 has one, a low one."""
    policy = recipe.start(es.FiniteArms(np.eye(2)), seed=0)
    policy.update(1, 2.5)
    for t in range(29):
        policy.update(0, 5.0 + math.sin(t))
    return policy


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("other", [{}, {"intercept": True}, {"half_life": 40}], ids=str)
def test_propensities_are_the_counted_votes_of_the_round(
    other: dict[str, object], fresh: bool
) -> None:
    """Against the members one by one, without rewards in between; fresh members differ from round to round."""
    recipe = es.EnsembleSampling(size=20, fresh=fresh, **other)  # type: ignore[arg-type]
    policy = recipe.start(es.FiniteArms(FEATURES), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(40):
        decision = policy.decide()
        policy.update(decision, float(decision.features @ THETA + rng.normal(0.0, 3.0)))
    shares, members = [], set()
    for t in range(40, 70):
        rows = np.hstack([FEATURES, np.ones((8, 1))]) if recipe.intercept else FEATURES
        liked = (policy.estimates @ rows.T).argmax(axis=1)
        counted = np.bincount(liked, minlength=8) / 20
        assert policy.votes().tolist() == liked.tolist()
        assert policy.propensities().tolist() == counted.tolist()
        assert policy.sampled_propensities(20).shares.tolist() == counted.tolist()
        decision = policy.decide(propensity=t % 2 == 0)
        assert decision.arm == liked[decision.member]
        assert policy.propensity(decision) == counted[decision.arm]
        assert policy.inflation == 0.75 * policy.calibration.sigma
        shares.append(counted.tolist())
        members.add(decision.member)
    if fresh:
        assert members == {0} and len({tuple(share) for share in shares}) > 2
    else:
        assert len(members) > 5 and all(share == shares[0] for share in shares)


@pytest.mark.parametrize("fresh", [False, True])
def test_rounds_have_the_same_propensities_in_snapshots_and_replays(
    fresh: bool, tmp_path: Path
) -> None:
    """Open decisions have the propensities of their rounds, and so have the rounds to come."""
    policy = unrewarded(es.EnsembleSampling(fresh=fresh))
    decisions = [policy.decide() for _ in range(31)]  # rounds 30 to 60
    policy.save(tmp_path / "snapshot")
    loaded = es.load(tmp_path / "snapshot")
    assert loaded.recipe == policy.recipe and loaded.inflation == policy.inflation
    replayed = policy.recipe.replay(policy.arms, policy.log(), 0, round=61)
    known = [policy.propensity(decision) for decision in decisions]
    assert [loaded.propensity(decision) for decision in decisions] == known
    assert [
        replayed.propensities(round=decision.round)[decision.arm] for decision in decisions
    ] == known
    assert len(set(known)) > 2 if fresh else set(known) == {1.0}
    for _ in range(61, 80):
        shares = [each.propensities().tolist() for each in (policy, loaded, replayed)]
        assert shares[0] == shares[1] == shares[2]
        assert len({each.decide().arm for each in (policy, loaded, replayed)}) == 1


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "arms", [es.FiniteArms(FEATURES), es.ChangingArms(4), es.UnitBall(4)], ids=repr
)
def test_perturbations_are_multiplied_by_the_learned_noise(arms: es.Arms, fresh: bool) -> None:
    """Whatever calibrates meanwhile: on changing arms a feature that is seen for the first time does."""
    policy = es.EnsembleSampling(size=3, fresh=fresh).start(arms, seed=0)
    for t in range(60):
        x = FEATURES[t % 8] * [1.0, 1.0, t > 20, t > 41]
        policy.update(x, math.sin(t))
        calibration = policy.calibration
        assert calibration is not None
        assert policy.inflation == 0.75 * calibration.sigma


@pytest.mark.parametrize("fresh", [False, True])
def test_a_regularization_that_is_given_is_kept(fresh: bool) -> None:
    policy = es.EnsembleSampling(size=6, regularization=2.0, fresh=fresh).start(
        es.FiniteArms(FEATURES), seed=2
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        decision = policy.decide()
        policy.update(decision, float(decision.features @ THETA + rng.normal()))
    log = policy.log()
    np.testing.assert_allclose(
        policy.gram, 2.0 * np.eye(4) + log.features.T @ log.features, rtol=1e-12
    )
    assert policy.calibration is not None
    assert policy.calibration.lam == 2.0
    assert 0.7 < policy.calibration.sigma < 1.4


@pytest.mark.parametrize("fresh", [False, True])
def test_what_is_due_is_done_between_two_calibrations(fresh: bool) -> None:
    """After the 256th observation V^-1 is computed anew; the scales are not."""
    policy = es.EnsembleSampling(size=15, fresh=fresh).start(es.FiniteArms(FEATURES))
    for t in range(256):
        policy.update(t % 8, float(FEATURES[t % 8] @ THETA) + t % 3)
    model = policy.model
    assert isinstance(model, LinearModel) and model.known.calibrated_at[0] < 256
    np.testing.assert_allclose(model.inverse @ model.gram, np.eye(4), atol=1e-13)
    assert model.information == pytest.approx(
        np.linalg.slogdet(model.gram)[1] - np.log(model.parts.prior).sum(), rel=1e-12
    )


def test_numbers_work_as_ever() -> None:
    for recipe in (
        es.EnsembleSampling(size=5, scale=0.5),
        es.PerturbedHistory(scale=0.5),
        es.ThompsonSampling(scale=0.5),
    ):
        policy = recipe.start(es.FiniteArms(np.eye(2)))
        assert policy.calibration is None and policy.gram.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert es.ThompsonSampling(adaptive=True).start(es.FiniteArms(np.eye(2))).calibration is None
    given = es.EnsembleSampling(size=5, initial=es.Gaussian(0.5), reward=es.Gaussian(2.0))
    assert given.start(es.FiniteArms(np.eye(2))).calibration is None
    assert given.reward_law.scale == 2.0
    assert es.LinUCB(radius=1.0).start(es.FiniteArms(np.eye(2))).calibration is None


@pytest.mark.parametrize("name", AUTO)
@given(power=st.integers(-30, 30), powers=st.lists(st.integers(-20, 20), min_size=4, max_size=4))
@settings(max_examples=8, deadline=None)
def test_powers_of_two_change_no_decision(name: str, power: int, powers: list[int]) -> None:
    """Rewards times 2^k and each feature times a power of its own: the same arms, as no rounding differs."""
    units = 2.0 ** np.array(powers)
    assert play(AUTO[name], FEATURES * units, 60, stretch=2.0**power) == play(
        AUTO[name], FEATURES, 60
    )


@pytest.mark.parametrize(
    "name", ["ensemble", "ensemble, stored members", "Thompson sampling", "LinUCB"]
)
def test_other_units_change_no_decision(name: str) -> None:
    rounds = 5000 if name.startswith("ensemble") else 1000
    assert play(AUTO[name], FEATURES * [3.7, 1.0, 1e-4, 1e5], rounds, stretch=3.7) == play(
        AUTO[name], FEATURES, rounds
    )


@given(order=st.permutations(range(4)))
@settings(max_examples=10, deadline=None)
def test_permuted_coordinates_have_the_same_scales(order: list[int]) -> None:
    """Nothing of what is learned depends on the order of coordinates; members do, draw by draw."""
    found = []
    for columns in (list(range(4)), order):
        policy = AUTO["LinUCB"].start(es.FiniteArms(FEATURES[:, columns]))
        for t in range(200):
            arm = t * t % len(FEATURES)
            policy.update(arm, float(FEATURES[arm] @ THETA + math.sin(t)))
        known = policy.calibration
        assert known is not None
        found.append(
            [known.sigma, known.tau, known.lam, known.effective, *known.sizes[np.argsort(columns)]]
        )
        found[-1] += policy.mean[np.argsort(columns)].tolist()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-12)


def permuted(recipe: es.Recipe, order: list[int], seed: int) -> np.ndarray:
    """Regret and pulls after 100 rounds of a problem whose coordinates are in this order: [runs, 1 + K]."""
    problem = es.LinearProblem(es.FiniteArms(FEATURES[:, order]), THETA[order], 2.0)
    result = es.simulate(recipe, problem, 100, 1500, seed, checkpoints=1)
    assert result.pulls is not None
    return np.hstack([result.regret, result.pulls])


@pytest.mark.parametrize("fresh", [False, True])
def test_permuted_coordinates_have_the_same_law(fresh: bool) -> None:
    """The negative control does not know the sizes of features."""
    recipe = es.EnsembleSampling(size=10, fresh=fresh)
    one = permuted(recipe, [0, 1, 2, 3], 1)
    assert holds(p_value(one, permuted(recipe, [2, 0, 3, 1], 2)))
    wrong = es.EnsembleSampling(size=10, scale=1.0, fresh=fresh)
    assert not holds(p_value(one, permuted(wrong, [0, 1, 2, 3], 3)))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_fixed_scale_notices_units(fresh: bool) -> None:
    """Negative control."""
    fixed = es.EnsembleSampling(size=15, scale=1.0, fresh=fresh)
    assert play(fixed, FEATURES, 60, stretch=2.0**-10) != play(fixed, FEATURES, 60)
    assert play(fixed, FEATURES * 2.0**-10, 60) != play(fixed, FEATURES, 60)


@pytest.mark.parametrize(
    "name", ["ensemble", "ensemble, stored members", "Thompson sampling", "LinUCB", "greedy"]
)
def test_units_do_not_matter_where_arms_change(name: str) -> None:
    """Each round brings its own arms; a feature that was never played has the unit of the offer."""
    units = 2.0 ** np.array([3, -7, 0])

    def arms(stretch: np.ndarray | float) -> list[int]:
        policy = AUTO[name].start(es.ChangingArms(3), 1)
        chosen = []
        for t in range(80):
            features = offered(policy, t)
            assert features is not None
            features[:, 2] *= t >= 40  # seen late
            decision = policy.decide(features * stretch)
            policy.update(decision, float(features[decision.arm] @ [0.5, -0.2, 0.3]))
            chosen.append(decision.arm)
        return chosen

    assert arms(units) == arms(1.0)


DEGENERATE = {
    "all equal": (FEATURES, lambda t, k: 3.0),
    "all zero": (FEATURES, lambda t, k: 0.0),
    "zero for long": (FEATURES, lambda t, k: float(t > 50)),
    "one arm": (FEATURES[:1], lambda t, k: math.sin(t)),
    "an arm of zeros": (np.zeros((1, 3)), lambda t, k: math.sin(t)),
    "fewer arms than features": (
        np.random.default_rng(0).standard_normal((2, 30)),
        lambda t, k: math.sin(t) + k,
    ),
    "duplicated features": (np.hstack([FEATURES, FEATURES]), lambda t, k: math.sin(t) + k),
    "huge": (FEATURES, lambda t, k: 2.5e149 * (0.1 * math.sin(t) + float(FEATURES[k] @ THETA))),
    "tiny": (FEATURES, lambda t, k: 1e-150 * (0.1 * math.sin(t) + float(FEATURES[k] @ THETA))),
    "features over nine orders": (
        FEATURES * 10.0 ** np.array([-4, 5, 0, 2]),
        lambda t, k: math.sin(t) + k,
    ),
}


@pytest.mark.parametrize("name", AUTO)
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_data(name: str, kind: str) -> None:
    features, reward = DEGENERATE[kind]
    policy = AUTO[name].start(es.FiniteArms(features), 0)
    for t in range(100):
        decision = policy.decide()
        policy.update(decision, reward(t, decision.arm))
    assert np.isfinite(policy.estimates).all() and np.isfinite(policy.gram).all()
    calibration = policy.calibration
    assert calibration is not None and calibration.sigma > 0.0 and 1e-6 <= calibration.lam <= 1e6
    assert np.isfinite([calibration.tau, calibration.effective]).all()
    if kind in ("huge", "tiny") and name != "greedy":
        assert decision.arm == np.argmax(FEATURES @ THETA)


@pytest.mark.parametrize("name", ["ensemble", "ensemble, stored members"])
def test_zeros_alone_are_explored(name: str) -> None:
    """Until a reward comes: a policy that learned nothing is not stuck on an arm."""
    assert len(set(play(AUTO[name], FEATURES, 100, stretch=0.0))) > 3


@pytest.mark.parametrize(
    ("field", "value"),
    [("scale", "Auto"), ("scale", -1.0), ("regularization", "none"), ("regularization", 0.0)],
)
def test_bad_fields(field: str, value: object) -> None:
    with pytest.raises(es.InvalidArgument, match=field):
        es.EnsembleSampling(size=3, **{field: value})


def test_radius_of_linucb_grows_with_the_rewards() -> None:
    policy = es.LinUCB().start(es.FiniteArms(FEATURES), seed=0)
    rng, seen = np.random.default_rng(1), 0
    for count in (1, 10, 100, 1000):
        policy.update_many(np.arange(seen, count) % 8, rng.normal(size=count - seen))
        seen = count
        calibration = policy.calibration
        assert calibration is not None
        radius = calibration.sigma * math.sqrt(4.0 + 0.5 * math.log1p(count / 100))
        assert policy.beta == pytest.approx(radius, rel=1e-12)
