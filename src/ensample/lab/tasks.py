"""Units of work of a study, and the threads that do them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensample.checks import blaming, whole
from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.simulation.plan import Plan, RunArrays, checkpoint_rounds, chunks
from ensample.simulation.threads import cores, on_threads
from ensample.types import IntArray

CHUNK_ROUNDS = 400_000  # a fraction of a second, by kernels


class Task(NamedTuple):
    """Replicates of a cell. Their results are the same wherever and whenever they are run."""

    cell: Cell
    plan: Plan
    replicates: range

    def run(self, stop: IntArray | None = None) -> RunArrays:
        """Simulate the replicates; end early once `stop[0]` is set."""
        problem = ", ".join([self.cell.problem, *self.cell.values])
        with blaming(f"{self.cell.policy} on {problem}"):
            return self.plan.run(self.replicates, stop)


def plan_of(study: Study, cell: Cell) -> Plan:
    """Return the simulations of a cell, with the pulls of the best arm first."""
    marks, way = checkpoint_rounds(cell.horizon, study.checkpoints), study.evaluation
    return Plan(cell.recipe, cell.family, marks, way, study.seed, cell.key, best_first=True)


def tasks_of(study: Study, cells: Iterable[Cell], done: Mapping[int, int]) -> Iterator[Task]:
    """Yield the work of some cells, of which so many runs are done, by their numbers."""
    for cell in cells:
        plan, size = plan_of(study, cell), max(1, CHUNK_ROUNDS // cell.horizon)
        for replicates in chunks(range(done.get(cell.number, 0), study.runs), size, first=size):
            yield Task(cell, plan, replicates)


class Engine(ABC):
    """Place where tasks are run, in any order. The numbers are the same from every engine."""

    warning = ""  # what a user should know before using it

    @abstractmethod
    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, RunArrays]]:
        """Yield (task, results) as tasks finish; take only a few tasks in advance."""

    @abstractmethod
    def __str__(self) -> str:
        """Return a description for the journal."""


@dataclass(frozen=True)
class Threads(Engine):
    """Threads of this process. By default one a core, or one where more wait for the GIL."""

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            whole("threads", self.count, 1)

    @property
    def workers(self) -> int:
        return self.count or cores()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, RunArrays]]:
        stop, all_of_them = np.zeros(1, np.int64), self.count is not None
        yield from on_threads(lambda task: task.run(stop), tasks, self.workers, stop, all_of_them)

    def __str__(self) -> str:
        return f"{self.workers} threads"
