"""Lazy and eager evaluation have the same law."""

from dataclasses import replace
from functools import cache

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
MANY = {es.Gaussian: (4400, 1300), es.Rademacher: (4400, 1300), es.CenteredBinomial: (3600, 610)}
"""Runs, lazy and eager, where an eager one takes ten to forty times as long: as good as 2000 of each, and 2000 against 700."""

LAWS = [es.Gaussian(0.7), es.Rademacher(0.7), es.CenteredBinomial(3, 0.7)]
MOVING = {
    "contextual": es.problem("contextual", dim=3, noise=0.5, arms=3),
    "ball": es.problem("ball", dim=3, noise=0.5),
}


def ensemble(size: int, law: es.Perturbation = LAWS[0]) -> es.EnsembleSampling:
    return es.EnsembleSampling(size=size, scale=0.7, reward=law, initial=law)


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """That the columns of two samples have the same laws: Kolmogorov-Smirnov on each, and on means (Bonferroni)."""
    values = []
    for left, right in zip(one.T, other.T, strict=True):
        values.append(stats.ks_2samp(left, right, method="asymp").pvalue)
        if left.std() + right.std() > 0:
            values.append(stats.ttest_ind(left, right, equal_var=False).pvalue)
    return min(values) * len(values)


@cache  # a negative control has the same other side as what it controls
def outcomes(
    recipe: es.Recipe, problem, horizon: int, evaluation: str, seed: int, runs: int = RUNS
) -> np.ndarray:
    """Regret half-way and at the end, and the pulls of each arm: [runs, ...]."""
    result = es.simulate(recipe, problem, horizon, runs, seed, evaluation, checkpoints=2)
    assert result.evaluation == evaluation
    return result.regret if result.pulls is None else np.hstack([result.regret, result.pulls])


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("size", [1, 2, 10, 1000])  # fewer members than rounds, and more
@pytest.mark.parametrize("horizon", [50, 500])
def test_on_finite_arms(law: es.Perturbation, size: int, horizon: int) -> None:
    """2000 runs against 2000 show a mean that is off by 0.18 standard deviations, every other time."""
    runs = (RUNS, RUNS) if size * horizon < 500_000 else MANY[type(law)]
    lazy, eager = (
        outcomes(ensemble(size, law), PROBLEM, horizon, way, seed, runs[place])
        for place, (way, seed) in enumerate((("lazy", 1), ("eager", 2)))
    )
    assert holds(p_value(lazy, eager))


def test_more_of_what_is_cheap_is_as_good_as_as_many_of_both() -> None:
    """A difference of means has the variance 1/n + 1/n'; Kolmogorov-Smirnov's distance goes by the same number."""
    for law, before in (
        (es.Gaussian, (2000, 2000)),
        (es.Rademacher, (2000, 2000)),
        (es.CenteredBinomial, (2000, 700)),
    ):
        assert sum(1.0 / n for n in MANY[law]) <= sum(1.0 / n for n in before)


@pytest.mark.parametrize("size", [2, 10])
def test_a_forgotten_initial_perturbation_is_caught(size: int) -> None:
    """Negative control."""
    right = ensemble(size)
    forgetful = replace(right, initial=es.Gaussian(0.0))
    assert not holds(
        p_value(
            outcomes(forgetful, PROBLEM, 50, "lazy", 1), outcomes(right, PROBLEM, 50, "eager", 2)
        )
    )


def test_a_stale_count_is_caught() -> None:
    """Negative control: a lazy version that draws again what it has drawn before."""
    eager = outcomes(ensemble(10), PROBLEM, 50, "eager", 2)[:, 2:]
    for stale in (False, True):
        slow = np.array(
            [lazy_pulls(X, THETA, 0.5, 0.7, 10, 50, seed, stale) for seed in range(1000)]
        )
        assert holds(p_value(slow, eager)) != stale


@pytest.mark.parametrize("size", [1, 2, 10, 300])
@pytest.mark.parametrize(
    ("name", "horizon"), [("contextual", 50), ("contextual", 300), ("ball", 50), ("ball", 300)]
)
def test_on_moving_arms(name: str, size: int, horizon: int) -> None:
    recipe = es.EnsembleSampling(size=size, scale=0.7, regularization=2.0)
    lazy = outcomes(recipe, MOVING[name], horizon, "lazy", 1)
    eager = outcomes(recipe, MOVING[name], horizon, "eager", 2)
    assert holds(p_value(lazy, eager))


@pytest.mark.parametrize("name", ["contextual", "ball"])
def test_on_moving_arms_a_wrong_scale_is_caught(name: str) -> None:
    """Negative control."""
    right = es.EnsembleSampling(size=10, scale=0.7, regularization=2.0)
    wrong = replace(right, reward=es.Gaussian(1.0))
    assert not holds(
        p_value(
            outcomes(wrong, MOVING[name], 300, "lazy", 1),
            outcomes(right, MOVING[name], 300, "eager", 2),
        )
    )


@pytest.mark.parametrize("rule", [es.RoundRobin(), es.StickyMember(4)], ids=repr)
def test_other_rules_are_lazy_too(rule: es.MemberRule) -> None:
    recipe = es.EnsembleSampling(size=7, scale=0.7, member=rule)
    assert holds(
        p_value(
            outcomes(recipe, PROBLEM, 100, "lazy", 1), outcomes(recipe, PROBLEM, 100, "eager", 2)
        )
    )


def test_a_warm_up_and_an_opening_are_in_every_members_history() -> None:
    warmup = [len(X), len(X) + 1] * 5 + [0]
    problem = es.LinearProblem(
        es.FiniteArms(X), THETA, 0.5, warmup=warmup, others=np.eye(2), opening=[0, 1, 2, 3]
    )
    recipe = es.EnsembleSampling(size=5, scale=0.7)
    lazy, eager = (
        outcomes(recipe, problem, 60, "lazy", 1),
        outcomes(recipe, problem, 60, "eager", 2),
    )
    assert holds(p_value(lazy, eager))
    live = outcomes(recipe, problem, 60, "live", 3, runs=400)
    assert holds(p_value(lazy, live))
    assert (lazy[:, 2:] >= 1).all(), "the opening plays every arm"
    assert (lazy[:, 2:].sum(axis=1) == 60).all(), "the warm-up counts as no round"
