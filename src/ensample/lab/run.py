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

from ensample.checks import boolean, file_path, instance
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.lab.cell import Cell
from ensample.lab.cell_file import CellFile, read
from ensample.lab.engines import Engine, Threads
from ensample.lab.results import Results
from ensample.lab.store import StudyStore
from ensample.lab.study import Study
from ensample.lab.work import Block, Task, tasks_of
from ensample.simulation.plan import checkpoint_rounds

PACKAGES = ("ensample", "numpy", "polars")


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
    grow: bool = False,
) -> Results:
    """Run the cells that the folder `out` does not hold yet, and keep each as soon as it is finished.

    Killed at any moment, the next call goes on where this one was. `out` is `results/<name>` unless given. `cluster` is the
    address of a Dask scheduler or "local"; else the work is done by `threads` of this process. The numbers do not depend on it.
    A scheduler at a tls:// address asks for the keys that the file `cluster_security` names; at any other address it lets
    everybody run code on its workers, and a warning says so.

    A folder of another study is refused with what differs, unless `grow` is True: then every run whose definition has not
    changed is kept, and only what is missing is computed. The numbers are those of a new folder.
    """
    instance("study", study, Study, "a Study")
    boolean("grow", grow)
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of a Progress, or None")
    if cluster is not None and threads is not None:
        raise InvalidArgument("threads", threads, "None with a cluster")
    require("polars", user="run_study")  # now rather than when the first cell is finished
    folder = Path("results") / study.name if out is None else file_path("out", out)
    store, engine = StudyStore(folder), engine_for(threads, cluster, cluster_security)
    if engine.caution:
        warnings.warn(engine.caution, stacklevel=2)
    with store.opened(study, grow):
        held = store.held(repair=True)
        store.note(event="session", **circumstances(study, engine))
        fill(study, store, engine, held, progress or (lambda _: None))
    return Results(folder, study)


def fill(
    study: Study,
    store: StudyStore,
    engine: Engine,
    held: dict[str, CellFile],
    progress: Callable[[Progress], None],
) -> None:
    """Run and keep what is missing of the cells; one that differs from another in words only is run with it."""
    count = Count(study, {digest: min(file.runs, study.runs) for digest, file in held.items()})
    missing = count.missing()
    if not missing:
        return
    partial: dict[int, Partial] = {}
    progress(count.progress)
    for task, block in engine.run(
        tasks_of(study, missing, {cell.number: count.there(cell) for cell in missing})
    ):
        number = task.cell.number
        before = held.get(study.digests[number])
        if number not in partial:
            partial[number] = Partial(study.runs, before)
        partial[number].add(task, block)
        count.add(task)
        if partial[number].is_full:
            marks = checkpoint_rounds(task.cell.horizon, study.checkpoints)
            store.write(study, task.cell, partial.pop(number).block, marks.tolist(), before)
        progress(count.progress)


class Count:
    """How many runs of each definition there are."""

    def __init__(self, study: Study, runs: dict[str, int]) -> None:
        self.study = study
        self.runs = runs
        self.sharing: dict[str, list[Cell]] = {}  # cells that differ in words only
        for cell, digest in zip(study.cells, study.digests, strict=True):
            self.sharing.setdefault(digest, []).append(cell)
        finished = [digest for digest in self.sharing if runs.get(digest, 0) == study.runs]
        self.cells = sum(len(self.sharing[digest]) for digest in finished)
        self.rounds = sum(cell.horizon * self.there(cell) for cell in study.cells)
        self.all_rounds = sum(cell.horizon for cell in study.cells) * study.runs

    def there(self, cell: Cell) -> int:
        return self.runs.get(self.study.digests[cell.number], 0)

    def missing(self) -> list[Cell]:
        """The first cell of each definition that is not finished."""
        return [
            cells[0] for cells in self.sharing.values() if self.there(cells[0]) < self.study.runs
        ]

    def add(self, task: Task) -> None:
        """These runs are there now."""
        digest, more = self.study.digests[task.cell.number], task.last - task.first
        self.runs[digest] = self.runs.get(digest, 0) + more
        self.rounds += more * task.cell.horizon * len(self.sharing[digest])
        self.cells += len(self.sharing[digest]) * (self.runs[digest] == self.study.runs)

    @property
    def progress(self) -> Progress:
        return Progress(self.cells, len(self.study.cells), self.rounds, self.all_rounds)


class Partial:
    """A cell on its way, from the runs that an earlier study had of it."""

    def __init__(self, runs: int, before: CellFile | None) -> None:
        self.runs = runs
        self.before = before
        self.filled = 0
        self.block: Block

    def add(self, task: Task, block: Block) -> None:
        if not self.filled:
            self.block = empty_like(block, self.runs)
            if self.before is not None:
                self._put(0, read(self.before)[0])
        self._put(task.first, block)

    def _put(self, first: int, block: Block) -> None:
        rows = slice(first, first + len(block.regret))
        self.block.regret[rows], self.block.seconds[rows] = block.regret, block.seconds
        if self.block.pulls is not None and block.pulls is not None:
            self.block.pulls[rows] = block.pulls
        self.filled += len(block.regret)

    @property
    def is_full(self) -> bool:
        return self.filled == self.runs


def empty_like(block: Block, runs: int) -> Block:
    """Room for all runs of a cell."""
    pulls = None if block.pulls is None else np.zeros((runs, block.pulls.shape[1]), np.int64)
    return Block(
        block.evaluation,
        np.full((runs, block.regret.shape[1]), np.nan),
        pulls,
        np.full(runs, np.nan),
    )


def engine_for(
    threads: int | None, cluster: str | None, security: str | Path | None = None
) -> Engine:
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
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
