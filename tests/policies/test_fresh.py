"""Ensembles that are drawn anew each round, and perturbations that grow with age."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ensample as es
from ensample.models import FreshEnsemble
from ensample.perturbations import laws
from ensample.randomness import Stream
from naive.fresh import ageing_times, covariance

FEATURES = np.random.default_rng(3).standard_normal((8, 4)) * [1.0, 5.0, 0.1, 2.0]
THETA = np.array([0.5, -0.1, 3.0, 0.2])
RECIPES = {
    "default": es.EnsembleSampling(30),
    "given scale": es.EnsembleSampling(30, scale=0.7, fresh=True),
    "given scale that ages": es.EnsembleSampling(30, scale=0.7, fresh=True, ageing=0.3),
    "half-life": es.EnsembleSampling(30, half_life=40),
    "intercept": es.EnsembleSampling(30, intercept=True),
    "given scale with intercept": es.EnsembleSampling(30, scale=0.7, fresh=True, intercept=True),
    "logistic": es.EnsembleSampling(30, model=es.Logistic()),
    "logistic with half-life": es.EnsembleSampling(30, model=es.Logistic(), half_life=40),
}


def played(recipe: es.Recipe, rounds: int, arms: es.Arms | None = None, seed: int = 1) -> es.Policy:
    policy = recipe.start(es.FiniteArms(FEATURES) if arms is None else arms, seed)
    for t in range(rounds):
        decision = policy.decide(
            FEATURES[t % 3 :] if isinstance(policy.arms, es.ChangingArms) else None
        )
        policy.update(decision, reward_of(recipe, decision.features, t))
    return policy


def reward_of(recipe: es.Recipe, x: np.ndarray, t: int) -> float:
    mean = float(x @ THETA)
    rng = np.random.default_rng((5, t))
    if isinstance(recipe.model, es.Logistic):
        return float(rng.random() < 1.0 / (1.0 + math.exp(-mean)))
    return mean + rng.standard_normal()


def fresh(policy: es.Policy) -> FreshEnsemble:
    model = policy.model
    assert isinstance(model, FreshEnsemble)
    return model


def learned_rows(policy: es.Policy) -> np.ndarray:
    """Return the features as the linear model learned them: with the constant, and weighted by the stream fit."""
    log, model = policy.log(), fresh(policy)
    X = (
        np.hstack([log.features, np.ones((len(log.features), 1))])
        if policy.recipe.intercept
        else log.features
    )
    if model.link is None:
        return X
    again, rows = policy.recipe.start(policy.arms, policy.seed), []
    for x, y in zip(log.features, log.reward, strict=True):
        weighted, _ = again.model.link.respond(again.model.state, x, y)
        rows.append(weighted)
        again.update(x, y)
    return np.array(rows).reshape(-1, model.dim)


def shares_of_variance(recipe: es.EnsembleSampling) -> tuple[float, float]:
    """Return (f0^2, c): the variance of a new perturbation and what log2 of its age adds, over sigma^2."""
    scale = recipe.boldness if recipe.calibrates else recipe.unit_scale
    return scale**2, recipe.ageing_rate * scale**2


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 6, 41, 150])
@pytest.mark.parametrize("name", RECIPES)
def test_covariance_is_the_sum_over_observations_and_prior(name: str, rounds: int) -> None:
    """theta^j - theta_hat = V^-1 S^j with S^j = M (w, g): M M' is found from unit vectors in place of normal draws."""
    recipe = RECIPES[name]
    policy = played(recipe, rounds)
    model = fresh(policy).at(7)
    d = model.dim
    units = np.eye(2 * d)
    model._normals = np.ascontiguousarray(units[:, :d]), np.ascontiguousarray(units[:, d:])
    centre = model.parts.mean
    sums = (model.members(2 * d) - centre) @ model.gram
    sigma = model.sigma if recipe.calibrates else 1.0
    expected = sigma**2 * covariance(
        learned_rows(policy), model.parts.prior, *shares_of_variance(recipe), recipe.half_life
    )
    size = np.sqrt(np.diag(expected))
    assert_allclose(
        sums.T @ sums / np.outer(size, size), expected / np.outer(size, size), atol=1e-7
    )


def test_observations_age_when_scales_are_learned() -> None:
    assert [n for n, _ in ageing_times(40)] == [2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38]
    assert sum(log for _, log in ageing_times(38)) == pytest.approx(math.log2(38))


def test_default_is_fresh_where_scales_are_learned() -> None:
    assert (es.EnsembleSampling().fresh, es.EnsembleSampling().ageing) == (None, None)
    for kept in (
        {"scale": 0.3},
        {"initial": es.Gaussian(), "reward": es.Gaussian()},
        {"reward": es.Rademacher()},
    ):
        assert not es.EnsembleSampling(**kept).draws_fresh
        assert es.EnsembleSampling(**kept).ageing_rate == 0.0
    for kept in (
        {"member": es.OptimisticMember()},
        {"member": es.RoundRobin()},
        {"model": es.Logistic("exact")},
    ):
        assert not es.EnsembleSampling(**kept).draws_fresh
        assert es.EnsembleSampling(**kept).boldness == 0.75
    for on in (
        {},
        {"intercept": True},
        {"half_life": 50},
        {"regularization": 2.0},
        {"reward": es.Gaussian(9.0)},
    ):
        recipe = es.EnsembleSampling(**on)
        assert recipe.draws_fresh and recipe == replace(recipe, fresh=None)
        assert shares_of_variance(recipe) == pytest.approx((0.75**2, 0.07))
    clicks = es.EnsembleSampling(model=es.Logistic())
    assert clicks.draws_fresh and shares_of_variance(clicks) == pytest.approx((0.75**2, 0.03))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reward": es.Uniform()}, r"fresh = True: expected False or None: only Gaussian"),
        ({"initial": es.Sphere(2.0)}, r"fresh = True: expected False or None: only Gaussian"),
        (
            {"member": es.OptimisticMember()},
            r"fresh = True: expected False or None: .*OptimisticMember",
        ),
        ({"member": es.RoundRobin()}, r"fresh = True: expected False or None: .*RoundRobin"),
        ({"model": es.Neural()}, r"fresh = True: expected False or None: .*Neural"),
        ({"model": es.Logistic("exact")}, r"fresh = True: expected False or None: .*Logistic"),
    ],
    ids=str,
)
def test_fresh_is_refused_for_other_laws_rules_and_models(fields: dict, expected: str) -> None:
    with pytest.raises(es.InvalidArgument, match=expected):
        es.EnsembleSampling(fresh=True, **fields)
    with pytest.raises(es.InvalidArgument, match=r"ageing = 0\.1: expected 0 or None"):
        es.EnsembleSampling(ageing=0.1, **fields)
    assert not es.EnsembleSampling(fresh=False, ageing=0, **fields).draws_fresh


def test_stored_members_do_not_age() -> None:
    for fields in ({"fresh": False}, {"scale": 0.5}):
        with pytest.raises(es.InvalidArgument, match="stored members do not age: give fresh=True"):
            es.EnsembleSampling(ageing=0.1, **fields)
    expected = (
        r"only members that are drawn anew \(fresh=True\) age, "
        r"and these are chosen uniformly, not by OptimisticMember\(\)"
    )
    with pytest.raises(es.InvalidArgument, match=expected):
        es.EnsembleSampling(ageing=0.1, member=es.OptimisticMember())


@pytest.mark.parametrize(
    "fields",
    [{"fresh": "auto"}, {"fresh": 2}, {"ageing": -0.1}, {"ageing": math.nan}, {"ageing": "much"}],
    ids=str,
)
def test_fields_of_a_wrong_type_or_value_are_named(fields: dict) -> None:
    expected = {"fresh": "True, False or None", "ageing": "a number from 0 to 1000 or None"}
    (name,) = fields
    with pytest.raises(es.InvalidArgument, match=f"^{name} = .*: expected {expected[name]}$"):
        es.EnsembleSampling(**fields)


@pytest.mark.parametrize("size", [1, 10, 100])
def test_arms_are_those_of_linphe_at_the_same_draws(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a coupling: LinPHE is given w and g of the first member for its own draws."""
    scale, lam = 0.7, 4.0
    ensemble = es.EnsembleSampling(size, scale=scale, regularization=lam, fresh=True).start(
        es.FiniteArms(FEATURES), seed=1
    )
    history = es.PerturbedHistory(scale=scale, regularization=lam).start(
        es.FiniteArms(FEATURES), seed=2
    )
    address = ensemble.model.address

    class Coupled:
        """A generator of the numbers that the first member of a round has."""

        def generator(self, stream: Stream, round: int) -> "Coupled":
            self.left = [
                address.generator(Stream(s), round).standard_normal(4)
                for s in (Stream.PERTURBATION, Stream.INITIAL)
            ]
            return self

        def standard_normal(self, shape: tuple[int, ...]) -> np.ndarray:
            return self.left.pop().reshape(shape)

        def normal(self, loc: float, scale: float, size: object) -> np.ndarray:
            return scale * self.left.pop().reshape(size)

    history.model.address = Coupled()
    monkeypatch.setattr(laws, "standard_normals", lambda rng, shape: rng.standard_normal(shape))
    different = 0
    for t in range(300):
        decisions = ensemble.decide(), history.decide()
        assert decisions[0].member == 0
        different += decisions[0].arm != decisions[1].arm
        for policy, decision in zip((ensemble, history), decisions, strict=True):
            policy.update(decision, reward_of(policy.recipe, decision.features, t))
    assert different == 0


@pytest.mark.parametrize("name", RECIPES)
def test_propensities_count_the_votes_of_the_round(name: str) -> None:
    recipe = RECIPES[name]
    policy = recipe.start(es.FiniteArms(FEATURES), 1)
    for t in range(24):
        policy.update(t % 8, float(np.random.default_rng(t).random() < 0.5))
    rows = np.hstack([FEATURES, np.ones((8, 1))]) if recipe.intercept else FEATURES
    seen = set()
    for _ in range(20):
        liked = (policy.estimates @ rows.T).argmax(axis=1)
        counted = np.bincount(liked, minlength=8) / 30
        assert policy.votes().tolist() == liked.tolist()
        assert policy.propensities().tolist() == counted.tolist()
        decision = policy.decide(propensity=True)
        assert decision.arm == liked[0]
        assert decision.propensity == counted[decision.arm] == policy.propensity(decision)
        seen.add(tuple(counted))
    assert len(seen) > 10, "each round has members of its own"


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("what", ["rewards", "features"])
@pytest.mark.parametrize("other", [{}, {"intercept": True}, {"half_life": 50}], ids=str)
def test_no_decision_depends_on_units(unit: float, what: str, other: dict) -> None:
    recipe = es.EnsembleSampling(10, **other)
    plain = recipe.start(es.FiniteArms(FEATURES), 3)
    scaled = recipe.start(es.FiniteArms(FEATURES * (unit if what == "features" else 1.0)), 3)
    factor = unit if what == "rewards" else 1.0
    for t in range(150):
        decisions = plain.decide(), scaled.decide()
        assert decisions[0].arm == decisions[1].arm
        y = reward_of(recipe, FEATURES[decisions[0].arm], t)
        plain.update(decisions[0], y)
        scaled.update(decisions[1], factor * y)


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_roots_do_not_depend_on_the_prior(lam: float) -> None:
    """The prior's part never enters R, so that any lam may be learned later; the covariance follows it."""
    recipe = es.EnsembleSampling(10, regularization=lam)
    policy = recipe.start(es.FiniteArms(FEATURES), 1)
    other = es.EnsembleSampling(10).start(es.FiniteArms(FEATURES), 1)
    for t in range(50):
        for each in (policy, other):
            each.update(t % 8, reward_of(recipe, FEATURES[t % 8], t))
    assert np.array_equal(fresh(policy).root, fresh(other).root)
    assert np.array_equal(fresh(policy).ages, fresh(other).ages)


def test_a_feature_that_comes_late_shares_the_age_of_the_prior() -> None:
    """Scales that are learned out of turn, for a new feature, age nothing."""
    policy = es.EnsembleSampling(10).start(es.ChangingArms(3), 0)
    for t in range(50):
        policy.update([1.0, math.sin(t), 0.0], math.cos(t))
    ages, count = fresh(policy).ages.copy(), fresh(policy).ages[1]
    assert count == 48.0 and ages[0] == pytest.approx(0.07 / 0.75**2 * math.log2(48))
    assert not fresh(policy).root[:, 2].any()
    policy.update([1.0, 0.0, 2.0], 1.0)
    assert policy.calibration.count == 51 and fresh(policy).ages.tolist() == ages.tolist()
    assert fresh(policy).root[2, 2] == pytest.approx(2.0, rel=0.1)


def test_estimates_of_a_neglected_arm_spread_with_time() -> None:
    """By sqrt((1 + c log2 3000) / (1 + c log2 300)). Negative controls: stored members, and fresh ones that do not age."""

    def spread(recipe: es.EnsembleSampling, rewards: int) -> float:
        """Return the spread of the members' difference between an arm that was played once and the other."""
        policy = recipe.start(es.FiniteArms(np.eye(2)), seed=0)
        policy.update(1, 2.5)
        for t in range(rewards):
            policy.update(0, 5.0 + math.sin(t))
        return float(np.diff(policy.estimates @ np.eye(2)).std())

    ageing = es.EnsembleSampling(2000, scale=0.5, fresh=True, ageing=0.5)
    for recipe in (es.EnsembleSampling(2000, scale=0.5), replace(ageing, ageing=0)):
        assert spread(recipe, 3000) == pytest.approx(spread(recipe, 300), rel=0.1)
    assert spread(ageing, 3000) == pytest.approx(spread(ageing, 300) * 1.155, rel=0.05)


def test_guarantee_is_the_corollary_for_any_size() -> None:
    setting = es.Setting(dim=5, arms=None, horizon=10_000, noise=1, norm=1)
    linphe = es.PerturbedHistory.from_theorem(setting)
    for size in (1, 7, 100):
        recipe = es.EnsembleSampling(
            size, scale=linphe.scale, regularization=linphe.regularization, fresh=True
        )
        assert recipe.guarantee(setting) == linphe.guarantee(setting)
        with pytest.raises(es.AssumptionError, match="ageing"):
            replace(recipe, ageing=0.1).guarantee(setting)
        with pytest.raises(es.AssumptionError):
            replace(recipe, scale=1.0).guarantee(setting)
    with pytest.raises(es.AssumptionError, match="auto"):
        es.EnsembleSampling().guarantee(setting)
