"""Lazy and eager evaluation have the same law."""

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import holds
from naive.lazy import lazy_pulls

RUNS = 2000
X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])
THETA = np.array([0.55, 0.45])
PROBLEM = es.LinearProblem(es.FiniteArms(X), THETA, 0.5)
FEWER = {es.Gaussian: RUNS, es.Rademacher: RUNS, es.CenteredBinomial: 700}  # a binomial takes five times as long to draw: 0.25
LAWS = [es.Gaussian(0.7), es.Rademacher(0.7), es.CenteredBinomial(3, 0.7)]


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """That the columns of two samples have the same laws: Kolmogorov-Smirnov on each, and on means (Bonferroni)."""
    values = []
    for left, right in zip(one.T, other.T, strict=True):
        values.append(stats.ks_2samp(left, right, method="asymp").pvalue)
        if left.std() + right.std() > 0:
            values.append(stats.ttest_ind(left, right, equal_var=False).pvalue)
    return min(values) * len(values)


def outcomes(recipe: es.Recipe, problem, horizon: int, evaluation: str, seed: int, runs: int = RUNS) -> np.ndarray:
    """Regret half-way and at the end, and the pulls of each arm: [runs, ...]."""
    result = es.simulate(recipe, problem, horizon, runs, seed, evaluation, checkpoints=2)
    assert result.evaluation == evaluation
    return result.regret if result.pulls is None else np.hstack([result.regret, result.pulls])


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("size", [1, 2, 10, 1000])  # fewer members than rounds, and more
@pytest.mark.parametrize("horizon", [50, 500])
def test_on_finite_arms(law: es.Perturbation, size: int, horizon: int) -> None:
    """2000 runs against 2000 show a mean that is off by 0.18 standard deviations, every other time."""
    recipe = es.EnsembleSampling(size=size, scale=0.7, reward=law, initial=law)
    lazy = outcomes(recipe, PROBLEM, horizon, "lazy", 1)
    eager = outcomes(recipe, PROBLEM, horizon, "eager", 2, runs=RUNS if size * horizon < 500_000 else FEWER[type(law)])
    assert holds(p_value(lazy, eager))


@pytest.mark.parametrize("size", [2, 10])
def test_a_forgotten_initial_perturbation_is_caught(size: int) -> None:
    """Negative control."""
    forgetful = es.EnsembleSampling(size=size, scale=0.7, initial=es.Gaussian(0.0))
    right = es.EnsembleSampling(size=size, scale=0.7)
    assert not holds(p_value(outcomes(forgetful, PROBLEM, 50, "lazy", 1), outcomes(right, PROBLEM, 50, "eager", 2)))


def test_a_stale_count_is_caught() -> None:
    """Negative control: a lazy version that draws again what it has drawn before."""
    eager = outcomes(es.EnsembleSampling(size=10, scale=0.7), PROBLEM, 50, "eager", 2)[:, 2:]
    for stale in (False, True):
        slow = np.array([lazy_pulls(X, THETA, 0.5, 0.7, 10, 50, seed, stale) for seed in range(1000)])
        assert holds(p_value(slow, eager)) != stale


@pytest.mark.parametrize("size", [1, 2, 10, 300])
@pytest.mark.parametrize(("name", "horizon"), [("contextual", 50), ("contextual", 300), ("ball", 50), ("ball", 300)])
def test_on_moving_arms(name: str, size: int, horizon: int) -> None:
    options = {"arms": 3} if name == "contextual" else {}
    family = es.problem(name, dim=3, noise=0.5, **options)
    recipe = es.EnsembleSampling(size=size, scale=0.7, regularization=2.0)
    lazy = outcomes(recipe, family, horizon, "lazy", 1)
    eager = outcomes(recipe, family, horizon, "eager", 2)
    assert holds(p_value(lazy, eager))


@pytest.mark.parametrize("name", ["contextual", "ball"])
def test_on_moving_arms_a_wrong_scale_is_caught(name: str) -> None:
    """Negative control."""
    family = es.problem(name, dim=3, noise=0.5)
    right, wrong = es.EnsembleSampling(size=10, scale=0.7), es.EnsembleSampling(size=10, scale=0.7, reward=es.Gaussian(1.0))
    assert not holds(p_value(outcomes(wrong, family, 300, "lazy", 1), outcomes(right, family, 300, "eager", 2)))


@pytest.mark.parametrize("rule", [es.RoundRobin(), es.StickyMember(4)], ids=repr)
def test_other_rules_are_lazy_too(rule: es.MemberRule) -> None:
    recipe = es.EnsembleSampling(size=7, scale=0.7, member=rule)
    assert holds(p_value(outcomes(recipe, PROBLEM, 100, "lazy", 1), outcomes(recipe, PROBLEM, 100, "eager", 2)))


def test_a_warm_up_and_an_opening_are_in_every_members_history() -> None:
    warmup = [len(X), len(X) + 1] * 5 + [0]
    problem = es.LinearProblem(es.FiniteArms(X), THETA, 0.5, warmup=warmup, others=np.eye(2), opening=[0, 1, 2, 3])
    recipe = es.EnsembleSampling(size=5, scale=0.7)
    lazy, eager = outcomes(recipe, problem, 60, "lazy", 1), outcomes(recipe, problem, 60, "eager", 2)
    assert holds(p_value(lazy, eager))
    live = outcomes(recipe, problem, 60, "live", 3, runs=400)
    assert holds(p_value(lazy, live))
    assert (lazy[:, 2:] >= 1).all(), "the opening plays every arm"
    assert (lazy[:, 2:].sum(axis=1) == 60).all(), "the warm-up counts as no round"
