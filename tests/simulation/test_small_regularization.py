"""Where W is tiny beside the arms that were played, the lazy law must still keep it."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample.problems.problem import FiniteProblem
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import RunSettings, SimulatedRun
from ensample.simulation.logistic_kernels import is_prior_representable
from evidence import FALSE_ALARM

X = np.array([[1.0, 0.0], [1.0, 1e-4], [1.0, -1e-4]])
WARMUP = np.zeros(2000, np.int64)  # the first arm
RUNS = {"lazy": 1300, "eager": 170}
"""An eager run takes seventy times as long as a lazy one: as good as 300 of each, by 1/n + 1/n'."""


def problem() -> es.LinearProblem:
    return es.LinearProblem(es.FiniteArms(X), [0.5, 0.0], 0.3, warmup=WARMUP)


@cache
def pulls(lam: float, evaluation: str, seed: int) -> np.ndarray:
    recipe = es.EnsembleSampling(size=3000, scale=0.3, regularization=lam)
    return es.simulate(
        recipe, problem(), 200, RUNS[evaluation], seed, evaluation, checkpoints=1
    ).pulls[:, 1]


def test_lazy_and_eager_agree_for_nearly_collinear_arms() -> None:
    assert stats.ks_2samp(pulls(1e-8, "lazy", 1), pulls(1e-8, "eager", 2)).pvalue > FALSE_ALARM


def test_another_regularization_is_noticed() -> None:
    """Negative control, of the same runs."""
    assert stats.ks_2samp(pulls(1e-4, "lazy", 1), pulls(1e-8, "eager", 2)).pvalue < FALSE_ALARM


def test_more_of_what_is_cheap_is_as_good_as_as_many_of_both() -> None:
    assert sum(1.0 / n for n in RUNS.values()) <= 2.0 / 300.0


@pytest.mark.parametrize(
    ("lam", "kept"), [(1.0, True), (1e-3, True), (1e-5, True), (1e-6, False), (1e-8, False)]
)
def test_stream_members_start_from_a_root_of_v_only_where_it_keeps_the_prior(
    lam: float, kept: bool
) -> None:
    """V is at most lam + 2200 / 4, and a root in doubles keeps a share of 1e-8."""
    arrays = problem().as_arrays()
    assert isinstance(arrays, FiniteProblem)
    recipe = es.EnsembleSampling(8, regularization=lam, model=es.Logistic())
    marks, stop = np.array([200]), np.zeros(1, np.int64)
    settings = RunSettings.of(recipe, problem().arms, marks, stop)
    assert is_prior_representable(SimulatedRun(arrays, settings, RunGenerators(0, 0))) == kept
