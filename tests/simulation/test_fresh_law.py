"""Kernels of ensembles that are drawn anew each round play as live policies do, and at given scales as LinPHE does."""

from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from evidence import holds
from simulation.test_calibrated_law import WARMED
from simulation.test_lazy_law import MOVING, PROBLEM, outcomes, p_value
from simulation.test_logistic_law import PROBLEM as CLICKS

FRESH = {
    "default": es.EnsembleSampling(10),
    "given scale": es.EnsembleSampling(10, scale=0.7, fresh=True),
    "given scale that ages": es.EnsembleSampling(10, scale=0.7, fresh=True, ageing=0.5),
    "half-life": es.EnsembleSampling(10, half_life=20),
    "intercept": es.EnsembleSampling(10, intercept=True),
}


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("problem", [PROBLEM, WARMED], ids=["plain", "warmed"])
def test_kernel_plays_as_the_live_policy_on_standing_arms(
    name: str, problem: es.LinearProblem
) -> None:
    kernel = outcomes(FRESH[name], problem, 60, "lazy", 1)
    assert holds(p_value(kernel, outcomes(FRESH[name], problem, 60, "live", 2, runs=400)))


@pytest.mark.parametrize("name", ["default", "given scale that ages"])
@pytest.mark.parametrize("place", MOVING)
def test_kernel_plays_as_the_live_policy_on_moving_arms(name: str, place: str) -> None:
    kernel = outcomes(FRESH[name], MOVING[place], 80, "lazy", 1)
    assert holds(p_value(kernel, outcomes(FRESH[name], MOVING[place], 80, "live", 2, runs=250)))


@pytest.mark.parametrize(
    "problem", [CLICKS, es.problem("clicks", dim=3, arms=4)], ids=["finite", "clicks"]
)
@pytest.mark.parametrize("ageing", [0.0, 0.5])
def test_logistic_kernel_plays_as_the_live_policy(problem: es.Problem, ageing: float) -> None:
    recipe = es.EnsembleSampling(10, scale=0.75, model=es.Logistic(), fresh=True, ageing=ageing)
    kernel = outcomes(recipe, problem, 60, "lazy", 1)
    assert holds(p_value(kernel, outcomes(recipe, problem, 60, "live", 2, runs=300)))


def test_information_directed_kernel_plays_as_the_live_policy() -> None:
    recipe = es.InformationDirected(10, fresh=True)
    kernel = outcomes(recipe, WARMED, 60, "eager", 1)
    assert holds(p_value(kernel, outcomes(recipe, WARMED, 60, "live", 2, runs=400)))


@pytest.mark.parametrize(
    "problem", [WARMED, MOVING["contextual"], CLICKS], ids=["finite", "contextual", "logistic"]
)
def test_a_kernel_that_does_not_age_is_caught(problem: es.Problem) -> None:
    """Negative control, at a rate that 200 rounds show."""
    model = es.Logistic() if problem is CLICKS else es.Linear()
    ageing = es.EnsembleSampling(10, scale=0.75, model=model, fresh=True, ageing=2.0)
    right = outcomes(ageing, problem, 200, "lazy", 1)
    assert holds(p_value(outcomes(ageing, problem, 200, "lazy", 2), right))
    assert not holds(p_value(outcomes(replace(ageing, ageing=0), problem, 200, "lazy", 2), right))


@pytest.mark.parametrize("size", [1, 10, 100])
@pytest.mark.parametrize(
    "problem", [WARMED, MOVING["contextual"], MOVING["ball"]], ids=["finite", "contextual", "ball"]
)
def test_at_a_given_scale_simulated_runs_are_those_of_linphe(
    size: int, problem: es.Problem
) -> None:
    ensemble = es.simulate(
        es.EnsembleSampling(size, scale=0.7, fresh=True), problem, 300, 20, seed=4
    )
    linphe = es.simulate(es.PerturbedHistory(scale=0.7), problem, 300, 20, seed=4)
    assert ensemble.evaluation == "lazy" and np.array_equal(ensemble.regret, linphe.regret)


def test_stored_kernels_refuse_fresh_recipes() -> None:
    with pytest.raises(es.InvalidArgument, match="evaluation"):
        es.simulate(FRESH["default"], PROBLEM, 10, evaluation="eager")


def test_simulated_runs_do_not_depend_on_the_size() -> None:
    few, many = (
        es.simulate(es.EnsembleSampling(size), PROBLEM, 300, 20, seed=4) for size in (1, 1 << 40)
    )
    assert np.array_equal(few.regret, many.regret)
