"""The unit of work: some replicates of a cell. A pure function, so that it does not matter where or when it runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ensample.checks import blaming
from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.simulation.plan import Plan, checkpoint_rounds
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
    way = task.evaluation
    plan = Plan(cell.recipe, cell.family, marks, way, task.seed, cell.key, best_first=True)
    with blaming(f"{cell.policy} on {', '.join([cell.problem, *cell.values])}"):
        done = plan.run(range(task.first, task.last), stop)
    return Block(done.evaluation, done.regret, done.pulls, done.seconds)
