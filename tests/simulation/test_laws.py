"""Lazy, eager and live evaluation have the same law, also jointly over members."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import RunSettings, SimulatedRun
from ensample.simulation.kernels import is_prior_representable
from evidence import holds
from naive.lazy import lazy_pulls

RUNS = 2000
ES = es.EnsembleSampling
X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])
THETA = np.array([0.55, 0.45])
PROBLEM = es.LinearProblem(es.FiniteArms(X), THETA, 0.5)
UNEVEN = es.LinearProblem(es.FiniteArms(X * [1000.0, 0.03]), THETA / [1000.0, 0.03], 0.5)
WARMED = es.LinearProblem(PROBLEM.arms, THETA, 0.5, warmup=np.tile(X, (6, 1)))
CLICKS = es.LogisticProblem(
    es.FiniteArms(X), [1.1, 0.6], warmup=[0, 4, 4], others=[[0.5, 0.5]], opening=[3]
)
MOVING = {
    "contextual": es.problem("contextual", dim=3, noise=0.5, arms=3),
    "ball": es.problem("ball", dim=3, noise=0.5),
}
MOVING_CLICKS = {
    "clicks": es.problem("clicks", dim=3, arms=3, rate=0.2),
    "ball": es.LogisticProblem(es.UnitBall(2), [1.1, 0.6]),
}


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """Return the p-value of the columns of two samples having the same laws.

    Kolmogorov-Smirnov's test on each, and Welch's on means (Bonferroni).
    """
    values = []
    for left, right in zip(one.T, other.T, strict=True):
        values.append(stats.ks_2samp(left, right, method="asymp").pvalue)
        if left.std() + right.std() > 0:
            values.append(stats.ttest_ind(left, right, equal_var=False).pvalue)
    return min(values) * len(values)


@cache  # a negative control has the same other side as what it controls
def outcomes(
    recipe: es.Recipe, problem: Any, horizon: int, evaluation: str, seed: int, runs: int = RUNS
) -> np.ndarray:
    """Return the regret half-way and at the end, and the pulls of each arm: [runs, ...]."""
    found = es.simulate(recipe, problem, horizon, runs, seed, evaluation, checkpoints=2)
    assert found.evaluation == evaluation
    return found.regret if found.pulls is None else np.hstack([found.regret, found.pulls])


def agree(recipe: es.Recipe, problem: Any, horizon: int, *sides: tuple[str, int]) -> bool:
    """Return True if two evaluations, each with its runs, have the same law."""
    one, other = (
        outcomes(recipe, problem, horizon, way, seed, runs)
        for seed, (way, runs) in enumerate(sides, start=1)
    )
    return holds(p_value(one, other))


LAZY, EAGER = ("lazy", RUNS), ("eager", RUNS)

# Given scales

LAWS = [es.Gaussian(0.7), es.Rademacher(0.7), es.CenteredBinomial(3, 0.7)]
MANY = {es.Gaussian: (4400, 1300), es.Rademacher: (4400, 1300), es.CenteredBinomial: (3600, 610)}
"""Runs where an eager one takes ten to forty times as long: as good as 2000 and 2000, or 700."""


def ensemble(size: int, law: es.Perturbation = LAWS[0], **more: Any) -> es.EnsembleSampling:
    return ES(size=size, scale=0.7, reward=law, initial=law, **more)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("size", [1, 2, 10, 1000])  # fewer members than rounds, and more
@pytest.mark.parametrize("horizon", [50, 500])
def test_on_finite_arms(law: es.Perturbation, size: int, horizon: int) -> None:
    """2000 runs against 2000 show a mean that is off by 0.18 deviations, every other time."""
    lazy, eager = (RUNS, RUNS) if size * horizon < 500_000 else MANY[type(law)]
    assert agree(ensemble(size, law), PROBLEM, horizon, ("lazy", lazy), ("eager", eager))


def test_more_of_what_is_cheap_is_as_good_as_as_many_of_both() -> None:
    """The variance of a difference of means and Kolmogorov-Smirnov's distance go by 1/n + 1/n'."""
    for law, least in ((es.Gaussian, 2000), (es.Rademacher, 2000), (es.CenteredBinomial, 700)):
        assert sum(1.0 / n for n in MANY[law]) <= 1.0 / 2000 + 1.0 / least
    assert sum(1.0 / n for n in COLLINEAR_RUNS.values()) <= 2.0 / 300.0


@pytest.mark.parametrize("size", [2, 10])
def test_forgotten_initial_perturbation_is_caught(size: int) -> None:
    """Negative control."""
    forgetful = replace(ensemble(size), initial=es.Gaussian(0.0))
    wrong = outcomes(forgetful, PROBLEM, 50, "lazy", 1)
    assert not holds(p_value(wrong, outcomes(ensemble(size), PROBLEM, 50, "eager", 2)))


def test_stale_count_is_caught() -> None:
    """Negative control: a lazy version that draws again what it has drawn before."""
    eager = outcomes(ensemble(10), PROBLEM, 50, "eager", 2)[:, 2:]
    for stale in (False, True):
        runs = [lazy_pulls(X, THETA, 0.5, 0.7, 10, 50, seed, stale) for seed in range(1000)]
        assert holds(p_value(np.array(runs), eager)) != stale


@pytest.mark.parametrize("size", [1, 2, 10, 300])
@pytest.mark.parametrize("horizon", [50, 300])
@pytest.mark.parametrize("name", MOVING)
def test_on_moving_arms(name: str, horizon: int, size: int) -> None:
    recipe = ES(size=size, scale=0.7, regularization=2.0)
    assert agree(recipe, MOVING[name], horizon, LAZY, EAGER)


@pytest.mark.parametrize("name", MOVING)
def test_wrong_scale_on_moving_arms_is_caught(name: str) -> None:
    """Negative control."""
    right = ES(size=10, scale=0.7, regularization=2.0)
    wrong = outcomes(replace(right, reward=es.Gaussian(1.0)), MOVING[name], 300, "lazy", 1)
    assert not holds(p_value(wrong, outcomes(right, MOVING[name], 300, "eager", 2)))


@pytest.mark.parametrize("rule", [es.RoundRobin(), es.StickyMember(4)], ids=repr)
def test_other_rules_are_lazy_too(rule: es.MemberRule) -> None:
    assert agree(ES(7, scale=0.7, member=rule), PROBLEM, 100, LAZY, EAGER)


def test_warm_up_and_opening_are_in_every_members_history() -> None:
    warmup = [len(X), len(X) + 1] * 5 + [0]
    rest = {"warmup": warmup, "others": np.eye(2), "opening": [0, 1, 2, 3]}
    problem = es.LinearProblem(es.FiniteArms(X), THETA, 0.5, **rest)
    recipe = ES(size=5, scale=0.7)
    lazy = outcomes(recipe, problem, 60, "lazy", 1)
    assert holds(p_value(lazy, outcomes(recipe, problem, 60, "eager", 2)))
    assert holds(p_value(lazy, outcomes(recipe, problem, 60, "live", 3, runs=400)))
    assert (lazy[:, 2:] >= 1).all(), "the opening plays every arm"
    assert (lazy[:, 2:].sum(axis=1) == 60).all(), "the warm-up counts as no round"


# Nearly collinear arms: W is tiny beside the arms that were played

COLLINEAR = es.LinearProblem(
    es.FiniteArms([[1.0, 0.0], [1.0, 1e-4], [1.0, -1e-4]]),
    [0.5, 0.0],
    0.3,
    warmup=np.zeros(2000, np.int64),
)
COLLINEAR_RUNS = {"lazy": 1300, "eager": 170}
"""An eager run takes seventy times as long as a lazy one: as good as 300 of each."""


@cache
def collinear_pulls(lam: float, evaluation: str, seed: int) -> np.ndarray:
    recipe, runs = ES(3000, scale=0.3, regularization=lam), COLLINEAR_RUNS[evaluation]
    pulls = es.simulate(recipe, COLLINEAR, 200, runs, seed, evaluation, checkpoints=1).pulls
    assert pulls is not None
    return pulls[:, [1]]


@pytest.mark.parametrize(("lam", "same"), [(1e-8, True), (1e-4, False)])
def test_lazy_law_keeps_a_tiny_prior(lam: float, same: bool) -> None:
    """Another regularization, the negative control, is noticed."""
    right = collinear_pulls(1e-8, "eager", 2)
    assert holds(p_value(collinear_pulls(lam, "lazy", 1), right)) == same


@pytest.mark.parametrize(
    ("lam", "kept"), [(1.0, True), (1e-3, True), (1e-5, True), (1e-6, False), (1e-8, False)]
)
def test_stream_members_start_from_a_root_of_v_only_where_it_keeps_the_prior(
    lam: float, kept: bool
) -> None:
    """V is at most lam + 2200 / 4, and a root in doubles keeps a share of 1e-8."""
    recipe = ES(8, regularization=lam, model=es.Logistic())
    marks, stop = np.array([200]), np.zeros(1, np.int64)
    settings = RunSettings.of(recipe, COLLINEAR.arms, marks, stop)
    run = SimulatedRun(COLLINEAR.as_arrays(), settings, RunGenerators(0, 0))
    assert is_prior_representable(run) == kept


# Learned scales

LEARNED = {
    "stored": ES(size=10, fresh=False),
    "one member": ES(size=1, fresh=False),
    "many": ES(size=1000, fresh=False),
    "half of whose members act once": ES(size=100, fresh=False),
    "many, Rademacher at first": ES(size=100, initial=es.Rademacher()),
    "many, Rademacher": ES(size=100, reward=es.Rademacher()),
    "many, intercept": ES(size=100, intercept=True, fresh=False),
    "Rademacher": ES(size=10, reward=es.Rademacher()),
    "scale alone": ES(size=10, regularization=2.0, fresh=False),
}


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("problem", [PROBLEM, UNEVEN, WARMED], ids=["plain", "uneven", "warmed"])
def test_with_learned_scales_lazy_is_eager(name: str, problem: es.LinearProblem) -> None:
    assert agree(LEARNED[name], problem, 100, LAZY, EAGER)


PLAYED = [
    LEARNED["stored"],
    ES(size=10),
    ES(size=10, member=es.OptimisticMember()),
    es.PerturbedHistory(),
    es.PerturbedHistory(reward=es.Rademacher()),
    es.ThompsonSampling(),
    es.LinUCB(),
    es.InformationDirected(size=10),
    es.InformationDirected(size=10, fresh=True),
    es.Greedy(),
    ES(10, scale=0.7, fresh=True),
    ES(10, scale=0.7, fresh=True, ageing=0.5),
    ES(10, half_life=20),
    ES(10, intercept=True),
]


@pytest.mark.parametrize("recipe", PLAYED, ids=repr)
@pytest.mark.parametrize("problem", [PROBLEM, WARMED], ids=["plain", "warmed"])
def test_kernel_plays_as_the_live_policy(recipe: es.Recipe, problem: es.Problem) -> None:
    way = es.simulate(recipe, problem, 1).evaluation
    assert way != "live" and agree(recipe, problem, 60, (way, RUNS), ("live", 400))


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("size", [2, 50])
def test_stored_members_on_moving_arms(name: str, size: int) -> None:
    recipe, family = ES(size=size, fresh=False), MOVING[name]
    eager = outcomes(recipe, family, 150, "eager", 2)
    assert holds(p_value(outcomes(recipe, family, 150, "lazy", 1), eager))
    assert holds(p_value(outcomes(recipe, family, 150, "live", 3, runs=150), eager))


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize(
    "recipe",
    [
        ES(size=2),
        ES(10, scale=0.7, fresh=True, ageing=0.5),
        es.PerturbedHistory(),
        es.ThompsonSampling(),
    ],
    ids=repr,
)
def test_kernel_plays_as_the_live_policy_on_moving_arms(name: str, recipe: es.Recipe) -> None:
    way = "lazy" if isinstance(recipe, ES) else "eager"
    assert agree(recipe, MOVING[name], 120, (way, RUNS), ("live", 250))


@pytest.mark.parametrize("name", ["many", "half of whose members act once"])
def test_another_prior_is_caught(name: str) -> None:
    """Negative control: members that act once do so with the W of the prior that was learned."""
    right = outcomes(LEARNED[name], PROBLEM, 100, "eager", 2)
    wrong = outcomes(replace(LEARNED[name], regularization=8.0), PROBLEM, 100, "lazy", 1)
    assert not holds(p_value(wrong, right))


def test_another_boldness_is_caught() -> None:
    """Negative control: LinPHE perturbs by 0.75 sigma, Thompson sampling by sigma."""
    one = outcomes(es.PerturbedHistory(), PROBLEM, 100, "eager", 1)
    assert not holds(p_value(one, outcomes(es.ThompsonSampling(), PROBLEM, 100, "eager", 2)))


@cache
def joint_arms(evaluation: str, seed: int) -> np.ndarray:
    """Return the arms of members 0 and 1 in the two rounds after a warm-up: [runs, 2].

    The means of arms differ, so regret tells.
    """
    recipe = ES(size=2, member=es.RoundRobin())
    found = es.simulate(recipe, WARMED, 2, 4000, seed, evaluation, checkpoints=2)
    gaps = WARMED.best_mean() - X @ THETA
    steps = np.diff(found.regret, axis=1, prepend=0.0)
    return np.abs(steps[:, :, None] - gaps).argmin(axis=2)


def table_p_value(one: np.ndarray, other: np.ndarray) -> float:
    """Return the p-value of a chi-square test on the joint table; rare cells are one."""
    cells = [np.bincount(pairs @ [4, 1], minlength=16) for pairs in (one, other)]
    rare = np.minimum(*cells) < 10
    counts = np.array([np.append(row[~rare], row[rare].sum()) for row in cells])
    return float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def test_members_have_their_joint_law() -> None:
    lazy, eager = joint_arms("lazy", 1), joint_arms("eager", 2)
    assert holds(table_p_value(lazy, eager))
    assert len(np.unique(eager @ [4, 1])) > 4


def test_shared_draw_is_caught() -> None:
    """Negative control: each member alone has the right law, but both start from one draw."""
    other = joint_arms("eager", 3)
    shared = np.stack([other[:, 0], other[:, 0]], axis=1)
    assert not holds(table_p_value(shared, joint_arms("eager", 2)))


# Fresh members


@pytest.mark.parametrize(
    "problem", [WARMED, MOVING["contextual"], CLICKS], ids=["finite", "contextual", "clicks"]
)
def test_kernel_that_does_not_age_is_caught(problem: es.Problem) -> None:
    """Negative control, at a rate that 200 rounds show."""
    model = es.Logistic() if problem is CLICKS else es.Linear()
    ageing = ES(10, scale=0.75, model=model, fresh=True, ageing=2.0)
    right = outcomes(ageing, problem, 200, "lazy", 1)
    assert holds(p_value(outcomes(ageing, problem, 200, "lazy", 2), right))
    assert not holds(p_value(outcomes(replace(ageing, ageing=0), problem, 200, "lazy", 2), right))


@pytest.mark.parametrize("size", [1, 10, 100])
@pytest.mark.parametrize("problem", [WARMED, *MOVING.values()], ids=["finite", *MOVING])
def test_at_a_given_scale_simulated_runs_are_those_of_linphe(
    size: int, problem: es.Problem
) -> None:
    fresh = es.simulate(ES(size, scale=0.7, fresh=True), problem, 300, 20, seed=4)
    linphe = es.simulate(es.PerturbedHistory(scale=0.7), problem, 300, 20, seed=4)
    assert fresh.evaluation == "lazy" and np.array_equal(fresh.regret, linphe.regret)


def test_fresh_runs_do_not_depend_on_the_size_and_have_no_eager_kernel() -> None:
    few, many = (es.simulate(ES(size), PROBLEM, 300, 20, seed=4) for size in (1, 1 << 40))
    assert np.array_equal(few.regret, many.regret)
    with pytest.raises(es.InvalidArgument, match="evaluation"):
        es.simulate(ES(10), PROBLEM, 10, evaluation="eager")


# The stream fit of clicks


def clicking(size: int, scale: float = 0.75, **more: Any) -> es.EnsembleSampling:
    return ES(size, scale, model=es.Logistic(), **more)


@pytest.mark.parametrize(("size", "lam"), [(2, 1.0), (8, "auto"), (8, 1e-9), (400, 0.3)])
def test_stream_fit_on_finite_arms(size: int, lam: float) -> None:
    recipe = clicking(size, regularization=lam)
    assert agree(recipe, CLICKS, 60, ("lazy", 3000), ("live", 300))


@pytest.mark.parametrize("place", MOVING_CLICKS)
@pytest.mark.parametrize("size", [2, 300])
def test_stream_fit_on_moving_arms(place: str, size: int) -> None:
    assert agree(clicking(size), MOVING_CLICKS[place], 60, ("lazy", 3000), ("live", 300))


@pytest.mark.parametrize("problem", [CLICKS, MOVING_CLICKS["clicks"]], ids=["finite", "clicks"])
@pytest.mark.parametrize("ageing", [0.0, 0.5])
def test_stream_fit_of_fresh_members(problem: es.Problem, ageing: float) -> None:
    recipe = clicking(10, fresh=True, ageing=ageing)
    assert agree(recipe, problem, 60, LAZY, ("live", 300))


@pytest.mark.parametrize("problem", [CLICKS, MOVING_CLICKS["clicks"]], ids=["finite", "clicks"])
def test_wrong_scale_of_the_stream_fit_is_caught(problem: es.Problem) -> None:
    """Negative control."""
    right = outcomes(clicking(8), problem, 60, "live", 2, 300)
    assert not holds(p_value(outcomes(clicking(8, 2.5), problem, 60, "lazy", 1, 3000), right))


def test_member_that_comes_late_has_the_law_of_one_that_was_there() -> None:
    """One member a round, so that all are new and start from bases that move."""
    late = outcomes(ES(10**6, model=es.Logistic(), fresh=False), CLICKS, 400, "lazy", 1)
    there = ES(400, model=es.Logistic(), member=es.RoundRobin())
    assert holds(p_value(late, outcomes(there, CLICKS, 400, "lazy", 2)))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"half_life": 50}, "half_life=50"),
        ({"reward": es.Rademacher()}, "default laws"),
        ({"member": es.OptimisticMember()}, "every member"),
    ],
)
def test_stream_fit_without_a_lazy_law_is_simulated_live(
    options: dict[str, Any], reason: str
) -> None:
    with pytest.warns(es.LiveSimulationWarning, match=reason):
        found = es.simulate(ES(4, model=es.Logistic(), **options), CLICKS, 5)
    assert found.evaluation == "live"
