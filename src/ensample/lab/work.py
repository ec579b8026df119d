"""The unit of work: some replicates of a cell. A pure function, so that it does not matter where or when it runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ensample.arms import FiniteArms
from ensample.checks import blaming
from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.problems import Problem
from ensample.simulation.replicates import Job, Workspace, replicates
from ensample.simulation.simulate import checkpoint_rounds
from ensample.types import FloatArray, IntArray

BLOCK_ROUNDS = 400_000  # a fraction of a second, by kernels


@dataclass(frozen=True)
class Task:
    """Replicates `first` to `last - 1` of a cell."""

    cell: Cell
    first: int
    last: int
    seed: int
    checkpoints: int
    evaluation: str


@dataclass(frozen=True, eq=False)
class Block:
    """What they gave."""

    evaluation: str
    regret: FloatArray  # [runs, C]
    pulls: (
        IntArray | None
    )  # [runs, K], the arm with the largest mean first; None where arms are not numbered
    seconds: FloatArray  # [runs] of work


def tasks_of(
    study: Study, cells: Iterable[Cell], there: Mapping[int, int] | None = None
) -> Iterator[Task]:
    """All the work of some cells, cell by cell; `there` says how many runs of a cell are done, by its number."""
    for cell in cells:
        size = max(1, min(study.runs, BLOCK_ROUNDS // cell.horizon))
        for first in range((there or {}).get(cell.number, 0), study.runs, size):
            last = min(first + size, study.runs)
            yield Task(cell, first, last, study.seed, study.checkpoints, study.evaluation)


def play(task: Task, stop: IntArray) -> Block:
    """Run the replicates of a task one after the other."""
    cell = task.cell
    marks = checkpoint_rounds(cell.horizon, task.checkpoints)
    count = task.last - task.first
    regret, seconds = np.full((count, marks.size), np.nan), np.zeros(count)
    pulls: list[IntArray] = []
    way = ""
    job = Job(cell.recipe, cell.family, marks, task.evaluation, task.seed, cell.key)
    with blaming(f"{cell.policy} on {', '.join([cell.problem, *cell.values])}"):
        for place, done in enumerate(
            replicates(job, range(task.first, task.last), Workspace(job, stop))
        ):
            way, regret[place], seconds[place] = done.evaluation, done.regret, done.seconds
            if done.pulls is not None:
                pulls.append(done.pulls[best_first(done.problem)])
    return Block(way, regret, np.array(pulls) if pulls else None, seconds)


def best_first(problem: Problem) -> IntArray:
    """The arms by their means."""
    assert isinstance(problem.arms, FiniteArms)
    features = problem.arms.features
    linear = type(problem).mean is Problem.mean
    means = features @ problem.theta if linear else np.array([problem.mean(x) for x in features])
    return np.argsort(-means, kind="stable")
