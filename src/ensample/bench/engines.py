"""What a study costs beyond its kernels: the threads engine against a bare loop over the same replicates."""

import tempfile
import time
from itertools import count

import numpy as np

from ensample.bench.contestants import ARMS, DIM, HORIZON, NOISE, SCALE
from ensample.bench.timing import Turn
from ensample.lab import Study, run_study
from ensample.simulation.replicates import Job, Workspace, replicates
from ensample.simulation.simulate import checkpoint_rounds

RUNS = 100  # as studies have by default


def study(seed: int) -> Study:
    """Four cells of a million rounds, kept on disk one by one."""
    ensembles = {"recipe": "EnsembleSampling", "size": [100, 29_000], "scale": SCALE}
    rivals = [
        {"recipe": "ThompsonSampling", "scale": SCALE},
        {"recipe": "LinUCB", "radius": 2 * NOISE},
    ]
    family = {"family": "sphere", "dim": DIM, "arms": ARMS, "noise": NOISE}
    return Study("bench", HORIZON, [ensembles, *rivals], family, RUNS, seed)


def studied() -> Turn:
    """`run_study` on one thread: drawing, running, collecting, writing, syncing."""
    seeds = count()

    def turn() -> float:
        asked = study(next(seeds))
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run_study(asked, folder, threads=1)
            return microseconds(asked, start)

    return turn


def bare() -> Turn:
    """The kernels in a loop, and nothing kept."""
    seeds = count()
    marks, stop = checkpoint_rounds(HORIZON, 200), np.zeros(1, np.int64)

    def turn() -> float:
        asked = study(next(seeds))
        start = time.perf_counter()
        for cell in asked.cells:
            job = Job(cell.recipe, cell.family, marks, "auto", asked.seed, cell.key)
            for _ in replicates(job, range(RUNS), Workspace(job, stop)):
                pass
        return microseconds(asked, start)

    return turn


def microseconds(asked: Study, start: float) -> float:
    """A round, since `start`."""
    return (time.perf_counter() - start) / (sum(cell.horizon for cell in asked.cells) * RUNS) * 1e6
