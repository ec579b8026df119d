"""What a study will cost, from short pilots of its cells."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.lab.work import Task, play
from ensample.problems import example_of
from ensample.simulation.dispatch import Evaluation
from ensample.simulation.plan import checkpoint_rounds

PILOT_ROUNDS = 500
BUDGET = 10.0  # seconds for all pilots
COPIES = 4  # of a cell's results in memory while it is written


class StudyEstimate(NamedTuple):
    """Of one study; `pilots` says on how many cells it rests."""

    seconds: float  # of one thread
    live: float  # those of them that live policies take
    memory: int  # bytes, at most at one time
    disk: int  # bytes, before compression
    pilots: int

    def on(self, threads: int) -> float:
        """Seconds on so many threads. Live policies wait for Python's lock: more threads than one are of no use to them."""
        return (self.seconds - self.live) / threads + self.live


def estimate(
    study: Study, cells: list[Cell], workers: int = 1, there: Mapping[int, int] | None = None
) -> StudyEstimate:
    """Run the first rounds of cells from all over the grid until the budget is spent.

    `there` says how many runs of a cell are done, by its number.
    """
    left = {cell.number: study.runs - (there or {}).get(cell.number, 0) for cell in cells}
    rates: dict[int, float] = {}
    ways: dict[
        int | str, str
    ] = {}  # how a cell is evaluated, and a policy where it is not known of the cell
    start = time.perf_counter()
    for cell in spread_out(cells):
        if rates and time.perf_counter() - start > BUDGET:
            break
        rates[cell.number], way = pilot(study, cell)
        ways[cell.number] = ways[cell.policy] = way
    by_policy = {cell.policy: [] for cell in cells}  # type: dict[str, list[float]]
    for cell in cells:
        if cell.number in rates:
            by_policy[cell.policy].append(rates[cell.number])
    usual = {
        policy: float(np.mean(found or list(rates.values()))) for policy, found in by_policy.items()
    }
    costs = [
        rates.get(cell.number, usual[cell.policy]) * cell.horizon * left[cell.number]
        for cell in cells
    ]
    played = [ways.get(cell.number, ways.get(cell.policy, Evaluation.EAGER)) for cell in cells]
    live = sum(cost for cost, way in zip(costs, played, strict=True) if way == Evaluation.LIVE)
    sizes = [result_bytes(study, cell) for cell in cells]
    working = max(
        (working_bytes(cell, way) for cell, way in zip(cells, played, strict=True)), default=0
    )
    memory = COPIES * max(sizes, default=0) + workers * working
    return StudyEstimate(sum(costs), live, memory, sum(sizes), len(rates))


def spread_out(cells: list[Cell]) -> list[Cell]:
    """The same cells, far apart ones first."""
    order = np.random.default_rng(0).permutation(len(cells))
    return [cells[place] for place in order]


def pilot(study: Study, cell: Cell) -> tuple[float, str]:
    """Return (seconds a round, evaluation). The first of two runs fills caches and is not counted."""
    short = replace(cell, horizon=min(cell.horizon, PILOT_ROUNDS))
    task = Task(short, 0, 2, study.seed, study.checkpoints, study.evaluation)
    block = play(task, np.zeros(1, np.int64))
    return float(block.seconds[-1]) / short.horizon, block.evaluation


def result_bytes(study: Study, cell: Cell) -> int:
    """Regret at the checkpoints and pulls of the arms."""
    return (
        8 * study.runs * (checkpoint_rounds(cell.horizon, study.checkpoints).size + arms_of(cell))
    )


def working_bytes(cell: Cell, evaluation: str) -> int:
    """Of one run: its arms, and its members with what is kept of each."""
    dim, arms = example_of(cell.family).arms.dim, arms_of(cell)
    size = int(getattr(cell.recipe, "size", 1))
    if evaluation != "lazy":
        return 8 * (size * (dim + arms) + 2 * arms * dim)  # sums and scores of all members
    kept = (
        8 * dim + 4 * arms if arms else 8 * (dim + dim * dim)
    )  # sums and counts, or the matrix when it last acted
    return min(size, cell.horizon) * kept + 16 * arms * dim


def arms_of(cell: Cell) -> int:
    arms = example_of(cell.family).arms
    return len(arms) if isinstance(arms, FiniteArms) else 0
