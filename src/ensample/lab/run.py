"""`run_study`: from a study to results on disk, resumed where an earlier call stopped."""

import platform
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ensample.checks import boolean, file_path, instance
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.lab.cell import Cell
from ensample.lab.cell_file import CellFile, read
from ensample.lab.results import Results
from ensample.lab.store import StudyStore
from ensample.lab.study import Study
from ensample.lab.tasks import Engine, Task, Threads, tasks_of
from ensample.simulation.plan import RunArrays


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
    """Run the cells that the folder `out` lacks, and keep each as soon as it is finished.

    Killed at any moment, the next call goes on where this one was. `out` is `results/<name>` unless
    given. `cluster` is the address of a Dask scheduler, or "local" for one on this machine; else
    the work is done by `threads` of this process. The numbers do not depend on it. A scheduler at a
    tls:// address asks for the keys that the file `cluster_security` names; at any other address it
    lets everybody run code on its workers, and a warning says so.

    A folder of another study is refused with what differs, unless `grow` is True: then every run
    whose definition has not changed is kept, and only what is missing is computed. The numbers are
    those of a new folder.
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
    if engine.warning:
        warnings.warn(engine.warning, stacklevel=2)
    with store.opened(study, grow):
        held = store.held(repair=True)
        store.note(event="session", **circumstances(study, engine))
        run_missing(study, store, engine, held, progress or (lambda _: None))
    return Results(folder, study)


def engine_for(threads: int | None, cluster: str | None, security: str | Path | None) -> Engine:
    if cluster is None:
        if security is not None:
            raise InvalidArgument("cluster_security", str(security), "None without a cluster")
        return Threads(threads)
    from ensample.lab.cluster import Cluster

    return Cluster(cluster, security)


def run_missing(
    study: Study,
    store: StudyStore,
    engine: Engine,
    held: Mapping[str, CellFile],
    progress: Callable[[Progress], None],
) -> None:
    """Run and store missing cells. Cells with equal definitions are run once."""
    count = RunCount(study, {digest: min(file.runs, study.runs) for digest, file in held.items()})
    missing = count.missing()
    if not missing:
        return
    started: dict[int, RunArrays] = {}
    progress(count.progress)
    done = {cell.number: count.runs_of(cell) for cell in missing}
    for task, results in engine.run(tasks_of(study, missing, done)):
        number = task.cell.number
        before = held.get(study.digests[number])
        if number not in started:
            started[number] = RunArrays.empty(study.runs, task.plan.checkpoints.size)
            if before is not None:
                started[number].fill(0, read(before)[0])
        started[number].fill(task.replicates.start, results)
        count.add(task)
        if count.runs_of(task.cell) == study.runs:
            marks = task.plan.checkpoints.tolist()
            store.write(study, task.cell, started.pop(number), marks, before)
        progress(count.progress)


class RunCount:
    """Number of finished runs of each definition."""

    def __init__(self, study: Study, runs: dict[str, int]) -> None:
        self.study = study
        self.runs = runs
        self.sharing: dict[str, list[Cell]] = {}  # cells with equal definitions
        for cell, digest in zip(study.cells, study.digests, strict=True):
            self.sharing.setdefault(digest, []).append(cell)
        finished = [digest for digest in self.sharing if runs.get(digest, 0) == study.runs]
        self.cells = sum(len(self.sharing[digest]) for digest in finished)
        self.rounds = sum(cell.horizon * self.runs_of(cell) for cell in study.cells)
        self.all_rounds = sum(cell.horizon for cell in study.cells) * study.runs

    def runs_of(self, cell: Cell) -> int:
        return self.runs.get(self.study.digests[cell.number], 0)

    def missing(self) -> list[Cell]:
        """Return the first cell of each definition that is not finished."""
        firsts = [cells[0] for cells in self.sharing.values()]
        return [cell for cell in firsts if self.runs_of(cell) < self.study.runs]

    def add(self, task: Task) -> None:
        digest, more = self.study.digests[task.cell.number], len(task.replicates)
        self.runs[digest] = self.runs.get(digest, 0) + more
        self.rounds += more * task.cell.horizon * len(self.sharing[digest])
        self.cells += len(self.sharing[digest]) * (self.runs[digest] == self.study.runs)

    @property
    def progress(self) -> Progress:
        return Progress(self.cells, len(self.study.cells), self.rounds, self.all_rounds)


def circumstances(study: Study, engine: Engine) -> dict[str, object]:
    """Return where and with what a session runs."""
    packages = {name: import_module(name).__version__ for name in ("ensample", "numpy", "polars")}
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "seed": study.seed,
        "engine": str(engine),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor(),
        "packages": packages,
    }


def processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
