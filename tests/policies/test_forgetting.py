"""A half-life: against its formula, in law, for ever; which kernels know it; what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.randomness import Stream
from ensample.simulation.dispatch import KERNELS, Evaluation
from evidence import gaussian_p_value, holds
from naive.forgetting import Fading
from simulation.test_laws import WARMED, outcomes, p_value

ARMS = es.FiniteArms(np.random.default_rng(0).standard_normal((9, 3)) * [1.0, 0.3, 2.0])
SETTING = es.Setting(dim=3, arms=9, horizon=100, noise=1.0, norm=1.0)


def observed(recipe: es.EnsembleSampling, rounds: int, seed: int = 0) -> tuple[es.Policy, Fading]:
    """A policy and its twin after the same observations, whose rounds come out of order."""
    policy = recipe.start(ARMS, seed)
    model = policy.model
    W = model._vectors(Stream.INITIAL, 0).T.copy()
    twin = Fading(W, recipe.half_life, recipe.lam, ARMS.sizes if recipe.calibrates else None)
    rng = np.random.default_rng(seed)
    order = rng.permutation(rounds)
    decisions = [policy.decide() for _ in range(rounds)]
    for t in order.tolist():
        x = decisions[t].features
        y = float(rng.normal(decisions[t].features @ [0.5, -0.2, 0.3], 0.2))
        fresh = model._vectors(Stream.FADING, t).T.copy()
        twin.learn(x, y, model.perturbations(t).copy(), fresh)
        policy.update(decisions[t], y)
    return policy, twin


RECIPES = {
    "fixed": es.EnsembleSampling(size=8, scale=0.5, regularization=2.0, half_life=7),
    "calibrated": es.EnsembleSampling(size=8, half_life=7, fresh=False),
    "calibrated, brief": es.EnsembleSampling(size=8, half_life=0.4, fresh=False),
    "calibrated, long": es.EnsembleSampling(size=8, half_life=1e9, fresh=False),
    "other laws": es.EnsembleSampling(
        size=8, scale=0.5, initial=es.Sphere(0.5), reward=es.Rademacher(0.5), half_life=7
    ),
    "other laws, calibrated": es.EnsembleSampling(
        size=8, initial=es.Sphere(), reward=es.Uniform(), half_life=7
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_it_is_the_whole_history_with_weights(name: str) -> None:
    policy, twin = observed(RECIPES[name], 300)
    np.testing.assert_allclose(policy.gram, twin.gram, rtol=1e-8)
    np.testing.assert_allclose(policy.mean, twin.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        policy.model.inverse, np.linalg.inv(twin.gram), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(
        policy.estimates, twin.estimates(policy.inflation), rtol=1e-8, atol=1e-9
    )
    growth = np.linalg.slogdet(twin.gram)[1] - np.log(twin.prior).sum()
    assert policy.model.information == pytest.approx(growth, abs=1e-8)
    if policy.calibration is not None:
        assert policy.calibration.sigma == pytest.approx(math.sqrt(twin.noise), rel=1e-8)


@pytest.mark.parametrize("fresh", [False, True])
def test_on_changing_arms_the_units_are_those_of_all_that_was_seen(fresh: bool) -> None:
    policy = es.EnsembleSampling(size=4, half_life=3, fresh=fresh).start(es.ChangingArms(2), seed=0)
    rng = np.random.default_rng(0)
    for t in range(400):  # the second feature is there in the beginning only
        decision = policy.decide(rng.standard_normal((4, 2)) * [1.0, 100.0 if t < 20 else 0.0])
        policy.update(decision, float(decision.features[0]))
    features = policy.log().features[: policy.calibration.count]
    np.testing.assert_allclose(
        policy.calibration.sizes, np.sqrt((features**2).mean(axis=0)), rtol=1e-9
    )
    assert policy.calibration.count > 390, "the scales are learned anew as observations fade"


def whitened(policy: es.Policy, scale: float) -> np.ndarray:
    """V^(1/2) (theta^j - theta_hat) / scale, which is N(0, I): [m, d]."""
    return (policy.estimates - policy.mean) @ np.linalg.cholesky(policy.gram) / scale


@pytest.mark.parametrize("rounds", [5, 60])
def test_the_covariance_of_the_members_follows_the_gram(rounds: int) -> None:
    policy, _ = observed(
        es.EnsembleSampling(size=5000, scale=0.5, regularization=3.0, half_life=8), rounds, seed=1
    )
    assert holds(gaussian_p_value(whitened(policy, 0.5)))
    policy, _ = observed(es.EnsembleSampling(size=5000, half_life=8, fresh=False), rounds, seed=2)
    assert holds(gaussian_p_value(whitened(policy, policy.inflation)))


@pytest.mark.parametrize("rounds", [5, 60])
def test_the_covariance_of_fresh_members_follows_the_gram(rounds: int) -> None:
    """The negative control ages its observations."""
    for scale in (0.5, "auto"):
        for ageing in (0.0, 0.1):
            recipe = es.EnsembleSampling(
                size=5000, scale=scale, half_life=8, fresh=True, ageing=ageing
            )
            policy, rng = recipe.start(ARMS, 3), np.random.default_rng(3)
            for _ in range(rounds):
                decision = policy.decide()
                policy.update(
                    decision, float(rng.normal(decision.features @ [0.5, -0.2, 0.3], 0.2))
                )
            size = policy.inflation if policy.calibration is not None else 0.5
            assert holds(gaussian_p_value(whitened(policy, size))) == (ageing == 0.0)


def test_a_prior_that_is_not_fed_is_caught() -> None:
    """Negative control: where W fades and nothing takes its place, the members agree more than V says."""
    _, twin = observed(
        es.EnsembleSampling(size=5000, scale=1.0, regularization=3.0, half_life=8), 60, seed=1
    )
    rows = np.linalg.solve(np.linalg.cholesky(twin.gram), twin.sums(fed=False).T).T
    assert not holds(gaussian_p_value(rows))
    assert holds(gaussian_p_value(np.linalg.solve(np.linalg.cholesky(twin.gram), twin.sums().T).T))


def test_nothing_winds_up() -> None:
    """Thousands of rounds in one direction: plain exponential forgetting loses the others, this keeps the prior's."""
    rounds, half_life, lam = 5000, 50.0, 0.7
    x, g = np.array([0.6, 0.8, 0.0]), 2.0 ** (-1.0 / half_life)
    policy = es.EnsembleSampling(size=4, scale=0.3, regularization=lam, half_life=half_life).start(
        es.FiniteArms(np.eye(3)), 0
    )
    plain = lam * np.eye(3)
    for t in range(rounds):
        policy.update(x, math.sin(t))
        plain = g * plain + np.outer(x, x)
    values = np.linalg.eigvalsh(policy.gram)
    assert values[0] >= lam * (1.0 - 1e-12)
    np.testing.assert_allclose(values, [lam, lam, lam + 1.0 / (1.0 - g)], rtol=1e-9)
    np.testing.assert_allclose(policy.model.inverse @ policy.gram, np.eye(3), atol=1e-12)
    assert np.abs(policy.estimates).max() < 10.0
    assert np.linalg.cond(plain) > 1e15, "what forgets its prior has no inverse left"


def test_a_very_long_half_life_forgets_nothing() -> None:
    fresh, stored = es.EnsembleSampling(size=6), es.EnsembleSampling(size=6, scale=0.5)
    for recipe in (fresh, stored, es.ThompsonSampling(), es.LinUCB(), es.Greedy()):
        plain, long = recipe.start(ARMS, 3), replace(recipe, half_life=1e60).start(ARMS, 3)
        rng = np.random.default_rng(3)
        for _ in range(50):
            arm, y = int(rng.integers(9)), float(rng.normal())
            plain.update(arm, y)
            long.update(arm, y)
        np.testing.assert_allclose(long.mean, plain.mean, rtol=1e-9)
        np.testing.assert_allclose(long.gram, plain.gram, rtol=1e-12)
        if recipe is fresh:
            np.testing.assert_allclose(long.estimates, plain.estimates, rtol=1e-9)


OPENED = es.LinearProblem(WARMED.arms, WARMED.theta, 0.5, warmup=[0, 1, 2, 0, 1], opening=[2, 1, 0])
DRIFT = es.problem("drift", dim=2, arms=4, step=0.1)
SWITCH = es.problem("switch", dim=2, arms=4, every=25)
FORGETTING = [
    es.EnsembleSampling(size=10, scale=0.5, half_life=20),
    es.EnsembleSampling(size=10, half_life=20),
    es.EnsembleSampling(size=10, half_life=20, fresh=False),
    es.EnsembleSampling(size=10, scale=0.5, half_life=20, fresh=True),
    es.EnsembleSampling(size=10, reward=es.Rademacher(), initial=es.Sphere(), half_life=20),
    es.EnsembleSampling(size=10, half_life=20, member=es.OptimisticMember()),
    es.PerturbedHistory(half_life=20),
    es.ThompsonSampling(half_life=20),
    es.ThompsonSampling(scale=0.5, half_life=20),
]


@pytest.mark.parametrize("recipe", FORGETTING, ids=repr)
@pytest.mark.parametrize("problem", [OPENED, DRIFT], ids=["opened", "drift"])
def test_kernels_play_as_live_policies_do(
    recipe: es.Recipe, problem: es.Problem | es.Family
) -> None:
    kernel = es.simulate(recipe, problem, 60, 2000, seed=1, checkpoints=2)
    assert kernel.evaluation == ("lazy" if getattr(recipe, "draws_fresh", False) else "eager")
    assert kernel.pulls is not None
    live = outcomes(recipe, problem, 60, "live", 2, runs=300)
    assert holds(p_value(np.hstack([kernel.regret, kernel.pulls]), live))


@pytest.mark.parametrize("half_life", [None, 20.0])
@pytest.mark.parametrize("problem", [OPENED, DRIFT, SWITCH], ids=["opened", "drift", "switch"])
def test_kernels_of_certain_recipes_give_the_same_regret(
    half_life: float | None, problem: es.Problem | es.Family
) -> None:
    """Live and simulated, on the same noise: also that a moving truth is the same truth for both."""
    for recipe in (
        es.Greedy(half_life=half_life),
        es.LinUCB(half_life=half_life),
        es.LinUCB(0.5, half_life=half_life),
    ):
        kernel, live = (
            es.simulate(recipe, problem, 120, 4, evaluation=way) for way in ("eager", "live")
        )
        np.testing.assert_allclose(kernel.regret, live.regret, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(kernel.pulls, live.pulls)


def test_another_half_life_is_caught() -> None:
    """Negative control of the laws above."""
    for recipe, way in zip(FORGETTING[1:3], ("lazy", "eager"), strict=True):
        one, other = (
            outcomes(replace(recipe, half_life=h), DRIFT, 60, way, s) for h, s in ((20, 1), (2, 2))
        )
        assert not holds(p_value(one, other))


KNOWING = {
    (es.EnsembleSampling, FiniteProblem, Evaluation.EAGER),
    (es.EnsembleSampling, FiniteProblem, Evaluation.LAZY),  # fresh members
    (es.PerturbedHistory, FiniteProblem, Evaluation.EAGER),
    (es.ThompsonSampling, FiniteProblem, Evaluation.EAGER),
    (es.LinUCB, FiniteProblem, Evaluation.EAGER),
    (es.Greedy, FiniteProblem, Evaluation.EAGER),
}


STORED: dict[type[es.Recipe], dict[str, bool]] = {es.EnsembleSampling: {"fresh": False}}


def test_no_kernel_ignores_a_half_life() -> None:
    """Those that run a recipe with one are tested above; all others say why they do not."""
    able = set()
    for (kind, place), kernels in KERNELS.items():
        if "half_life" in getattr(kind, "__dataclass_fields__", {}):
            for recipe in (kind(half_life=9), replace(kind(half_life=9), **STORED.get(kind, {}))):
                able |= {
                    (kind, place, kernel.evaluation)
                    for kernel in kernels
                    if not kernel.why_not(recipe)
                }
    assert able == KNOWING
    assert {place for kind, place in KERNELS if kind is es.EnsembleSampling} == {
        FiniteProblem,
        ContextualProblem,
    }
    for form in ("closed", "determinant"):
        kernels = KERNELS[es.LinUCB, FiniteProblem]
        (only,) = [
            kernel for kernel in kernels if not kernel.why_not(es.LinUCB(form=form))
        ]  # the others are for other models
        assert "half_life=9" in only.why_not(es.LinUCB(form=form, half_life=9))
        assert all(kernel.why_not(es.LinUCB(form=form, half_life=9)) for kernel in kernels)


def test_moving_arms_are_simulated_live_and_say_so() -> None:
    with pytest.warns(es.LiveSimulationWarning, match=r"does not know half_life=9"):
        assert (
            es.simulate(es.ThompsonSampling(half_life=9), es.problem("ball", dim=2), 5).evaluation
            == "live"
        )


KINDS = [es.EnsembleSampling, es.PerturbedHistory, es.ThompsonSampling, es.LinUCB, es.Greedy]


@pytest.mark.parametrize("kind", KINDS)
def test_a_half_life_is_a_number_above_0(kind: type[es.Recipe]) -> None:
    assert kind(half_life=10).half_life == 10.0 and kind().half_life is None and kind().rate == 0.0
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(es.InvalidArgument, match=r"^half_life = "):
            kind(half_life=wrong)
    for wrong in ("50", True, [50]):
        with pytest.raises(es.WrongType, match=r"^half_life = "):
            kind(half_life=wrong)
    policy = kind(half_life=1e-300).start(ARMS)
    policy.update(0, 1.0)
    policy.update(1, 1.0)
    x = ARMS.features[1]
    np.testing.assert_allclose(
        policy.gram, np.diag(policy.model.parts.prior) + np.outer(x, x), rtol=1e-12
    )


def test_what_cannot_fade_is_refused() -> None:
    with pytest.raises(es.InvalidArgument, match=r"^half_life = 5.*None with Rademacher"):
        es.PerturbedHistory(reward=es.Rademacher(), half_life=5)
    with pytest.raises(es.InvalidArgument, match=r"^half_life = 5.*adaptive"):
        es.ThompsonSampling(adaptive=True, half_life=5)


def test_no_theorem_covers_it() -> None:
    for kind in KINDS[:4]:
        prescribed = kind.from_theorem(SETTING)
        with pytest.raises(
            es.AssumptionError, match=r"assumes that nothing is forgotten; here half_life = 50"
        ):
            replace(prescribed, half_life=50)
        with pytest.raises(es.AssumptionError):
            replace(prescribed, setting=None, half_life=50).guarantee(SETTING)
    with pytest.raises(es.AssumptionError, match="half_life"):
        replace(es.LinUCB.from_theorem(SETTING), setting=None, half_life=50).guarantee(SETTING)
