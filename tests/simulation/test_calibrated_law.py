"""Recipes that learn their scales: lazy, eager and live evaluation have the same law, also jointly over members."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import holds
from simulation.test_lazy_law import MOVING, PROBLEM, outcomes, p_value

RECIPES = {
    "ensemble": es.EnsembleSampling(size=10, fresh=False),
    "ensemble, one member": es.EnsembleSampling(size=1, fresh=False),
    "ensemble, many": es.EnsembleSampling(size=1000, fresh=False),
    "ensemble, half of whose members act once": es.EnsembleSampling(size=100, fresh=False),
    "ensemble, many, Rademacher at first": es.EnsembleSampling(size=100, initial=es.Rademacher()),
    "ensemble, many, Rademacher": es.EnsembleSampling(size=100, reward=es.Rademacher()),
    "ensemble, many, intercept": es.EnsembleSampling(size=100, intercept=True, fresh=False),
    "ensemble, Rademacher": es.EnsembleSampling(size=10, reward=es.Rademacher()),
    "ensemble, scale alone": es.EnsembleSampling(size=10, regularization=2.0, fresh=False),
}
UNEVEN = es.LinearProblem(
    es.FiniteArms(PROBLEM.arms.features * [1000.0, 0.03]), PROBLEM.theta / [1000.0, 0.03], 0.5
)
WARMED = es.LinearProblem(
    PROBLEM.arms, PROBLEM.theta, 0.5, warmup=np.tile(PROBLEM.arms.features, (6, 1))
)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("problem", [PROBLEM, UNEVEN, WARMED], ids=["plain", "uneven", "warmed"])
def test_lazy_is_eager(name: str, problem: es.LinearProblem) -> None:
    lazy = outcomes(RECIPES[name], problem, 100, "lazy", 1)
    assert holds(p_value(lazy, outcomes(RECIPES[name], problem, 100, "eager", 2)))


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPES["ensemble"],
        es.EnsembleSampling(size=10),
        es.EnsembleSampling(size=10, member=es.OptimisticMember()),
        es.PerturbedHistory(),
        es.PerturbedHistory(reward=es.Rademacher()),
        es.ThompsonSampling(),
        es.LinUCB(),
        es.InformationDirected(size=10),
        es.InformationDirected(size=10, fresh=True),
        es.Greedy(),
    ],
    ids=repr,
)
def test_kernels_play_as_live_policies_do(recipe: es.Recipe) -> None:
    kernel = es.simulate(recipe, WARMED, 60, 2000, seed=1, checkpoints=2)
    assert kernel.evaluation != "live"
    live = outcomes(recipe, WARMED, 60, "live", 2, runs=400)
    assert kernel.pulls is not None
    assert holds(p_value(np.hstack([kernel.regret, kernel.pulls]), live))


@pytest.mark.parametrize("name", ["contextual", "ball"])
@pytest.mark.parametrize("size", [2, 50])
def test_on_moving_arms(name: str, size: int) -> None:
    recipe, family = es.EnsembleSampling(size=size, fresh=False), MOVING[name]
    eager = outcomes(recipe, family, 150, "eager", 2)
    assert holds(p_value(outcomes(recipe, family, 150, "lazy", 1), eager))
    assert holds(p_value(outcomes(recipe, family, 150, "live", 3, runs=150), eager))


@pytest.mark.parametrize("name", ["contextual", "ball"])
def test_fresh_members_on_moving_arms(name: str) -> None:
    recipe, family = es.EnsembleSampling(size=2), MOVING[name]
    lazy = outcomes(recipe, family, 150, "lazy", 1)
    assert holds(p_value(lazy, outcomes(recipe, family, 150, "live", 3, runs=300)))


@pytest.mark.parametrize("recipe", [es.PerturbedHistory(), es.ThompsonSampling()], ids=repr)
@pytest.mark.parametrize("name", ["contextual", "ball"])
def test_histories_on_moving_arms(name: str, recipe: es.Recipe) -> None:
    family = es.problem(name, dim=3, noise=0.5)
    kernel = es.simulate(recipe, family, 100, 1000, seed=1, checkpoints=2)
    assert kernel.evaluation == "eager"
    assert holds(p_value(kernel.regret, outcomes(recipe, family, 100, "live", 2, runs=200)))


@pytest.mark.parametrize("name", ["ensemble, many", "ensemble, half of whose members act once"])
def test_another_prior_is_caught(name: str) -> None:
    """Negative control: members that act once do so with the W of the prior that was learned."""
    right = outcomes(RECIPES[name], PROBLEM, 100, "eager", 2)
    wrong = outcomes(replace(RECIPES[name], regularization=8.0), PROBLEM, 100, "lazy", 1)
    assert not holds(p_value(wrong, right))


def test_another_boldness_is_caught() -> None:
    """Negative control: LinPHE perturbs by 0.75 sigma, Thompson sampling by sigma."""
    one, other = (
        outcomes(es.PerturbedHistory(), PROBLEM, 100, "eager", 1),
        outcomes(es.ThompsonSampling(), PROBLEM, 100, "eager", 2),
    )
    assert not holds(p_value(one, other))


@cache
def joint_arms(evaluation: str, seed: int, runs: int = 4000) -> np.ndarray:
    """The arms of members 0 and 1 in the two rounds after a warm-up: [runs, 2]. The means of arms differ, so regret tells."""
    recipe = es.EnsembleSampling(size=2, member=es.RoundRobin())
    result = es.simulate(recipe, WARMED, 2, runs, seed, evaluation, checkpoints=2)
    gaps = WARMED.best_mean() - WARMED.arms.features @ WARMED.theta
    steps = np.diff(result.regret, axis=1, prepend=0.0)
    return np.abs(steps[:, :, None] - gaps).argmin(axis=2)


def table_p_value(one: np.ndarray, other: np.ndarray) -> float:
    """That pairs of arms have the same law: chi-square on the joint table, cells expected less than 10 times left together."""
    cells = [np.bincount(pairs @ [4, 1], minlength=16) for pairs in (one, other)]
    rare = np.minimum(*cells) < 10
    counts = np.array([np.append(row[~rare], row[rare].sum()) for row in cells])
    return float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def test_members_have_their_joint_law() -> None:
    lazy, eager = joint_arms("lazy", 1), joint_arms("eager", 2)
    assert holds(table_p_value(lazy, eager))
    assert len(np.unique(eager @ [4, 1])) > 4


def test_a_shared_draw_is_caught() -> None:
    """Negative control: each member alone has the right law, but both start from the same draw."""
    eager, other = joint_arms("eager", 2), joint_arms("eager", 3)
    shared = np.stack([other[:, 0], other[:, 0]], axis=1)
    assert not holds(table_p_value(shared, eager))
