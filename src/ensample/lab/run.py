"""`run_study`: from a study to results on disk, again and again if need be."""

import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ensample.checks import file_path, instance
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.lab.cell import Cell
from ensample.lab.engines import Engine, Threads
from ensample.lab.results import Results
from ensample.lab.store import Store
from ensample.lab.study import Study
from ensample.lab.work import Block, Task, tasks_of
from ensample.simulation.simulate import checkpoint_rounds

__all__ = ["Progress", "run_study"]

PACKAGES = ("ensample", "numpy", "numba", "llvmlite", "polars")


class Progress(NamedTuple):
    """How far a study is; what earlier sessions finished counts as done."""

    cells: int
    all_cells: int
    rounds: int
    all_rounds: int


def run_study(
    study: Study,
    out: str | Path | None = None,
    *,
    threads: int | None = None,
    cluster: str | None = None,
    cluster_security: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run the cells that the folder `out` does not hold yet, and keep each as soon as it is finished.

    Killed at any moment, the next call goes on where this one was. `out` is `results/<name>` unless given. `cluster` is the
    address of a Dask scheduler or "local"; else the work is done by `threads` of this process. The numbers do not depend on it.
    A scheduler at a tls:// address asks for the keys that the file `cluster_security` names; at any other address it lets
    everybody run code on its workers, and a warning says so.
    """
    instance("study", study, Study, "a Study")
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of a Progress, or None")
    if cluster is not None and threads is not None:
        raise InvalidArgument("threads", threads, "None with a cluster")
    require("polars")  # now rather than when the first cell is finished
    folder = Path("results") / study.name if out is None else file_path("out", out)
    store, engine = Store(folder), engine_for(threads, cluster, cluster_security)
    if engine.caution:
        warnings.warn(engine.caution, stacklevel=2)
    with store.opened(study):
        done = store.finished(repair=True)
        store.note(event="session", **circumstances(study, engine))
        missing = [cell for cell in study.cells if cell.number not in done]
        if missing:
            fill(study, store, engine, missing, progress or (lambda _: None))
    return Results(folder, study)


def fill(study: Study, store: Store, engine: Engine, missing: list[Cell], progress: Callable[[Progress], None]) -> None:
    """Run and keep these cells."""
    all_rounds = sum(cell.horizon for cell in study.cells) * study.runs
    cells, rounds = len(study.cells) - len(missing), all_rounds - sum(cell.horizon for cell in missing) * study.runs
    partial: dict[int, Partial] = {}
    progress(Progress(cells, len(study.cells), rounds, all_rounds))
    for task, block in engine.run(tasks_of(study, missing)):
        whole = partial.setdefault(task.cell.number, Partial(task.cell, study.runs))
        whole.add(task, block)
        rounds += task.cell.horizon * (task.last - task.first)
        if whole.is_full:
            marks = checkpoint_rounds(task.cell.horizon, study.checkpoints)
            store.write(task.cell, partial.pop(task.cell.number).block, marks.tolist())
            cells += 1
        progress(Progress(cells, len(study.cells), rounds, all_rounds))


class Partial:
    """A cell on its way."""

    def __init__(self, cell: Cell, runs: int) -> None:
        self.cell = cell
        self.runs = runs
        self.filled = 0
        self.block: Block

    def add(self, task: Task, block: Block) -> None:
        if not self.filled:
            self.block = empty_like(block, self.runs)
        rows = slice(task.first, task.last)
        self.block.regret[rows], self.block.seconds[rows] = block.regret, block.seconds
        if self.block.pulls is not None and block.pulls is not None:
            self.block.pulls[rows] = block.pulls
        self.filled += task.last - task.first

    @property
    def is_full(self) -> bool:
        return self.filled == self.runs


def empty_like(block: Block, runs: int) -> Block:
    """Room for all runs of a cell."""
    pulls = None if block.pulls is None else np.zeros((runs, block.pulls.shape[1]), np.int64)
    return Block(block.evaluation, np.full((runs, block.regret.shape[1]), np.nan), pulls, np.zeros(runs))


def engine_for(threads: int | None, cluster: str | None, security: str | Path | None = None) -> Engine:
    if cluster is None:
        if security is not None:
            raise InvalidArgument("cluster_security", str(security), "None without a cluster")
        return Threads(threads)
    from ensample.lab.cluster import Cluster

    return Cluster(cluster, security)


def circumstances(study: Study, engine: Engine) -> dict[str, object]:
    """Where and with what a session runs."""
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "seed": study.seed,
        "engine": str(engine),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor(),
        "packages": {name: installed(name) for name in PACKAGES},
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
