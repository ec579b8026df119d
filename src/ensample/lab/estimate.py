"""Estimate of what a study will cost, from short pilots of its cells."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.lab.tasks import Task, plan_of
from ensample.problems import example_of
from ensample.simulation.dispatch import Evaluation
from ensample.simulation.plan import checkpoint_rounds

PILOT_ROUNDS = 500
BUDGET = 10.0  # seconds for all pilots
COPIES = 4  # of a cell's results in memory while it is written


class StudyEstimate(NamedTuple):
    """Cost of a study."""

    seconds: float  # of one thread
    live: float  # those of them that live policies take
    memory: int  # bytes, at most at one time
    disk: int  # bytes, before compression
    pilots: int  # cells that the estimate rests on

    def on(self, threads: int) -> float:
        """Return the seconds on so many threads; live policies, which hold the GIL, use one."""
        return (self.seconds - self.live) / threads + self.live


def estimate(
    study: Study, cells: list[Cell], workers: int = 1, done: Mapping[int, int] | None = None
) -> StudyEstimate:
    """Run the first rounds of cells from all over the grid until the budget is spent.

    `done` is the number of finished runs of a cell, by its number. A cell without a pilot is taken
    for the mean of its policy's.
    """
    rates: dict[int, float] = {}
    ways: dict[int | str, str] = {}  # evaluation by cell, and by policy for cells without a pilot
    start = time.perf_counter()
    for cell in spread_out(cells):
        if rates and time.perf_counter() - start > BUDGET:
            break
        rates[cell.number], way = pilot(study, cell)
        ways[cell.number] = ways[cell.policy] = way
    usual = {}
    for policy in {cell.policy for cell in cells}:
        own = [rates[c.number] for c in cells if c.policy == policy and c.number in rates]
        usual[policy] = float(np.mean(own or list(rates.values())))
    seconds, live, working = 0.0, 0.0, 0
    for cell in cells:
        runs = study.runs - (done or {}).get(cell.number, 0)
        cost = rates.get(cell.number, usual[cell.policy]) * cell.horizon * runs
        way = ways.get(cell.number, ways.get(cell.policy, Evaluation.EAGER))
        seconds += cost
        live += cost if way == Evaluation.LIVE else 0.0
        working = max(working, working_bytes(cell, way))
    sizes = [result_bytes(study, cell) for cell in cells]
    memory = COPIES * max(sizes, default=0) + workers * working
    return StudyEstimate(seconds, live, memory, sum(sizes), len(rates))


def spread_out(cells: list[Cell]) -> list[Cell]:
    """Return the same cells, far apart ones first."""
    order = np.random.default_rng(0).permutation(len(cells))
    return [cells[place] for place in order]


def pilot(study: Study, cell: Cell) -> tuple[float, str]:
    """Return (seconds a round, evaluation). The first of two runs only fills caches."""
    short = replace(cell, horizon=min(cell.horizon, PILOT_ROUNDS))
    results = Task(short, plan_of(study, short), range(2)).run()
    return float(results.seconds[-1]) / short.horizon, results.evaluation


def result_bytes(study: Study, cell: Cell) -> int:
    """Return the size of regret at the checkpoints and pulls of the arms."""
    marks = checkpoint_rounds(cell.horizon, study.checkpoints).size
    return 8 * study.runs * (marks + arms_of(cell))


def working_bytes(cell: Cell, evaluation: str) -> int:
    """Return the size of one run: its arms, and its members with what is kept of each."""
    dim, arms = example_of(cell.family).arms.dim, arms_of(cell)
    size = int(getattr(cell.recipe, "size", 1))
    if evaluation != Evaluation.LAZY:
        return 8 * (size * (dim + arms) + 2 * arms * dim)  # sums and scores of all members
    # Of each member that acted: sums and counts, or without standing arms sums and a matrix.
    kept = 8 * dim + 4 * arms if arms else 8 * (dim + dim * dim)
    return min(size, cell.horizon) * kept + 16 * arms * dim


def arms_of(cell: Cell) -> int:
    arms = example_of(cell.family).arms
    return len(arms) if isinstance(arms, FiniteArms) else 0
