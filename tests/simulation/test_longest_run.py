"""Kernels count pulls in 32 bits, those of the warm-up too: a run that is longer is refused before it begins."""

import numpy as np
import pytest

import ensample as es
from ensample.lab.tasks import tasks_of
from ensample.simulation.plan import Plan, checkpoint_rounds

LONGEST = 2**31 - 1
WARMUP = 3
PROBLEM = es.LinearProblem(es.FiniteArms(np.eye(2)), [0.2, 0.9], 0.1, warmup=[0, 0, 1])
SAID = f"^horizon = {LONGEST - WARMUP + 1}: expected at most {LONGEST - WARMUP}, .* the {WARMUP} rounds of the warm-up"


def evaluation_of(problem: es.Problem, horizon: int, way: str, fresh: bool | None = None) -> str:
    """Return the evaluation of a run that is not begun."""
    plan = Plan(es.EnsembleSampling(3, fresh=fresh), problem, checkpoint_rounds(horizon, 5), way)
    return plan.prepared.evaluation


@pytest.mark.parametrize(
    ("evaluation", "fresh"),
    [("lazy", False), ("eager", False), ("live", False), ("lazy", True), ("live", True)],
)
def test_the_warm_up_counts(evaluation: str, fresh: bool) -> None:
    assert evaluation_of(PROBLEM, LONGEST - WARMUP, evaluation, fresh) == evaluation
    with pytest.raises(es.InvalidArgument, match=rf"{SAID}$"):
        evaluation_of(PROBLEM, LONGEST - WARMUP + 1, evaluation, fresh)


@pytest.mark.parametrize("name", ["sphere", "contextual"])
def test_without_one_every_round_counts(name: str) -> None:
    problem = es.problem(name, dim=2).draw(np.random.default_rng(0))
    assert evaluation_of(problem, LONGEST, "auto") == "lazy"


def test_simulations_say_it_at_once() -> None:
    with pytest.raises(es.InvalidArgument, match=rf"{SAID} \(Greedy on LinearProblem\)$"):
        es.simulate(es.Greedy(), PROBLEM, LONGEST - WARMUP + 1, runs=3)


def test_studies_say_it_before_a_round_is_played() -> None:
    trap = {"family": "trap", "dim": 3}
    study = es.Study(name="long", horizon=LONGEST, problem=trap, policy={"recipe": "Greedy"})
    task = next(tasks_of(study, study.cells, {}))
    with pytest.raises(
        es.InvalidArgument,
        match=f"^Greedy on trap: horizon = {LONGEST}: expected at most {LONGEST - 203}",
    ):
        task.run()
