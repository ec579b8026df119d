"""`simulate`: replicates on threads, the same numbers for any number of them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from os import PathLike

import numpy as np

from ensample.checks import file_path, instance, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.files import check_file
from ensample.policies.recipe import Recipe
from ensample.problems import Family, Problem
from ensample.simulation.dispatch import EVALUATIONS
from ensample.simulation.replicates import LONGEST, Job, Workspace, replicates
from ensample.simulation.run_log import RunLog
from ensample.simulation.runs import Runs
from ensample.simulation.threads import cores, on_threads
from ensample.types import IntArray

BLOCK_ROUNDS = 20_000  # about ten milliseconds: enough to hand over


def simulate(
    recipe: Recipe,
    problem: Problem | Family,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    evaluation: str = "auto",
    checkpoints: int = 200,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    cell: int = 0,
    log: str | PathLike[str] | None = None,
    rounds: Callable[[int], None] | None = None,
) -> Runs:
    """Play a recipe on a problem `runs` times for `horizon` rounds and record the regret.

    `evaluation`: "lazy" touches only the member that acts (exact in law, cost independent of the ensemble size), "eager" keeps
    all members up to date, "live" runs the live policy in Python; "auto" takes the fastest that there is, and warns
    (`LiveSimulationWarning`) where that is the live policy. A family draws a
    problem of its own for each replicate. Replicate r faces the same problem and the same noise under every recipe, and gives
    the same bits whatever the threads and the order. `progress` is called with the number of finished runs; `rounds` with the
    number of rounds played so far, by the threads that play them: after each run, and on the way where the live policy plays.
    `threads`: so many; if not said otherwise one a core, or a single one where they would wait for each other (live policies,
    short runs).
    `cell` numbers the cells of a study, so that their random numbers differ. `log` is a Parquet file for the decisions of all
    runs, with their propensities, as `Experiment.log` has them; the live policies play then, and regret is theirs.

    >>> import ensample as es
    >>> runs = simulate(es.EnsembleSampling(size=10**6, scale=0.3), es.problem("sphere", dim=5), horizon=500, runs=4)
    >>> runs.regret.shape, runs.evaluation
    ((4, 200), 'lazy')
    """
    instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling(size=100)")
    if not isinstance(problem, Problem | Family):
        raise WrongType("problem", problem, "a LinearProblem or a family such as problem('sphere')")
    horizon, runs, seed = (
        whole("horizon", horizon, 1),
        whole("runs", runs, 1),
        whole("seed", seed, 0),
    )
    cell = whole("cell", cell, 0)
    for told, function, what in (
        ("progress", progress, "finished runs"),
        ("rounds", rounds, "rounds played"),
    ):
        if function is not None and not callable(function):
            raise WrongType(told, function, f"a function of the number of {what}, or None")
    if not isinstance(evaluation, str) or evaluation not in EVALUATIONS:
        raise InvalidArgument("evaluation", evaluation, f"one of {', '.join(EVALUATIONS)}")
    marks = checkpoint_rounds(horizon, whole("checkpoints", checkpoints, 1))
    if log is not None:
        check_log(log, evaluation)
    book = None if log is None else RunLog(getattr(problem, "name", type(problem).__name__))
    played = None if rounds is None else RoundsDone(rounds).add
    job = Job(
        recipe, problem, marks, evaluation if book is None else "live", seed, cell, book, played
    )
    workers = min(runs, cores() if threads is None else whole("threads", threads, 1))
    stop = np.zeros(1, np.int64)
    regret, seconds = np.full((runs, marks.size), np.nan), np.zeros(runs)
    ways: set[str] = set()
    counts = Counts(runs)

    workspaces = threading.local()

    def play(block: range) -> None:
        if not hasattr(workspaces, "own"):
            workspaces.own = Workspace(job, stop)
        with between(recipe, problem):
            for r, done in zip(
                block, replicates(job, block, workspaces.own), strict=False
            ):  # fewer after a stop
                regret[r], seconds[r] = done.regret, done.seconds
                ways.add(done.evaluation)
                counts.keep(r, done.pulls)

    done = 0
    with closing(
        on_threads(play, blocks_of(runs, horizon, workers), workers, stop, threads is not None)
    ) as finished:
        for block, _ in finished:
            for _ in block:
                done += 1
                if progress is not None:
                    progress(done)
    if book is not None and log is not None:
        book.write(log)
    return Runs(
        recipe, problem, horizon, seed, ways.pop(), marks, regret, counts.table, seconds, cell
    )


def check_log(log: str | PathLike[str], evaluation: str) -> None:
    """Raise, before the work, where a log cannot be written."""
    require("polars", user="a log of simulate")
    if evaluation not in ("auto", "live"):
        raise InvalidArgument("evaluation", evaluation, '"live" with a log: kernels count no votes')
    check_file("log", file_path("log", log))


@contextmanager
def between(recipe: Recipe, problem: Problem | Family) -> Iterator[None]:
    """Errors inside say who was playing what: one of a reward would name neither."""
    try:
        yield
    except InvalidArgument as error:
        played = getattr(problem, "name", "") or type(problem).__name__
        expected = f"{error.expected} ({type(recipe).__name__} on {played})"
        raise type(error)(error.argument, error.value, expected) from error


class RoundsDone:
    """Adds up the rounds of all threads, and tells of the sum."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell, self.sum, self.lock = tell, 0, threading.Lock()

    def add(self, rounds: int) -> None:
        with self.lock:
            self.sum += rounds
            self.tell(self.sum)


class Counts:
    """How often each arm was played in each run, in one table; None where arms are not numbered."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.table: IntArray | None = None  # [runs, K]
        self.lock = threading.Lock()

    def keep(self, r: int, pulls: IntArray | None) -> None:
        if pulls is not None:
            with self.lock:
                if self.table is None:
                    self.table = np.zeros((self.runs, pulls.size), np.int64)
            self.table[r] = pulls


def blocks_of(runs: int, horizon: int, workers: int) -> Iterator[range]:
    """Replicates that a thread plays one after the other: several where they are short, for handing over takes time too."""
    most = max(1, min(runs // (4 * workers), BLOCK_ROUNDS // horizon))
    first, size = 0, 1
    while first < runs:  # small ones at first: they tell whether threads are worth having
        yield range(first, min(first + size, runs))
        first, size = first + size, min(2 * size, most)


def checkpoint_rounds(horizon: int, count: int) -> IntArray:
    """At most `count` numbers of rounds from 1 to the horizon, evenly spaced, the last being the horizon."""
    whole("horizon", horizon, 1, LONGEST)
    return np.unique(np.linspace(0, horizon, min(count, horizon) + 1)[1:].round().astype(np.int64))
