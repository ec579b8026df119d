"""`simulate`: replicates on threads, the same numbers for any number of them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import TypeAlias, TypedDict, Unpack

import numpy as np

from ensample.checks import file_path, instance, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.files import check_file
from ensample.policies.recipe import Recipe
from ensample.problems import Family, Problem
from ensample.simulation.dispatch import EVALUATIONS
from ensample.simulation.live import RunLog
from ensample.simulation.plan import Plan, RunArrays, checkpoint_rounds, chunks
from ensample.simulation.runs import Runs
from ensample.simulation.threads import cores, on_threads

CHUNK_ROUNDS = 20_000  # about ten milliseconds: enough to hand over to a thread
CountRuns: TypeAlias = Callable[[int], None]


class SimulateKeywords(TypedDict, total=False):
    """Further keyword arguments of `simulate`, which describes them."""

    threads: int | None
    progress: CountRuns | None
    rounds: CountRuns | None
    cell: int
    log: str | PathLike[str] | None


@dataclass(frozen=True)
class SimulateOptions:
    """Further keyword arguments of `simulate`, with their defaults."""

    threads: int | None = None
    progress: CountRuns | None = None
    rounds: CountRuns | None = None
    cell: int = 0
    log: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            whole("threads", self.threads, 1)
        whole("cell", self.cell, 0)
        for name, counted in (("progress", "finished runs"), ("rounds", "rounds played")):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise WrongType(name, function, f"a function of the number of {counted}, or None")


def simulate(
    recipe: Recipe,
    problem: Problem | Family,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    evaluation: str = "auto",
    checkpoints: int = 200,
    **options: Unpack[SimulateKeywords],
) -> Runs:
    """Play a recipe on a problem `runs` times for `horizon` rounds and record the regret.

    A family draws a problem of its own for each replicate. Replicate r faces the same problem and
    the same noise under every recipe, and gives the same bits whatever the threads and the order.

    `evaluation`: "lazy" computes only the member that acts (exact in law, at a cost that does not
    depend on the ensemble size), "eager" keeps all members up to date, "live" runs the live policy
    in Python. "auto" takes the fastest there is, and warns (`LiveSimulationWarning`) where that is
    the live policy.

    `checkpoints` is the number of rounds, evenly spaced, at which the regret is recorded.

    Keywords:

    - `threads`: the number of threads; by default one a core, or a single one where they would wait
      for each other (live policies, short runs).
    - `progress`: a function of the number of finished runs.
    - `rounds`: a function of the number of rounds played so far, called by the threads that play
      them: after each run, and on the way where the live policy plays.
    - `cell=0`: the number of a cell of a study, so that random numbers of cells differ.
    - `log`: a Parquet file for the decisions of all runs, with their propensities, as
      `Experiment.log` has them; the live policies play then.

    >>> import ensample as es
    >>> recipe = es.EnsembleSampling(size=10**6, scale=0.3)
    >>> runs = es.simulate(recipe, es.problem("sphere", dim=5), horizon=500, runs=4)
    >>> runs.regret.shape, runs.evaluation
    ((4, 200), 'lazy')
    """
    instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling(size=100)")
    if not isinstance(problem, Problem | Family):
        raise WrongType("problem", problem, "a LinearProblem or a family such as problem('sphere')")
    horizon = whole("horizon", horizon, 1)
    runs = whole("runs", runs, 1)
    seed = whole("seed", seed, 0)
    chosen = SimulateOptions(**options)
    threads, progress, log = chosen.threads, chosen.progress, chosen.log
    if not isinstance(evaluation, str) or evaluation not in EVALUATIONS:
        raise InvalidArgument("evaluation", evaluation, f"one of {', '.join(EVALUATIONS)}")
    marks = checkpoint_rounds(horizon, whole("checkpoints", checkpoints, 1))
    workers = min(runs, cores() if threads is None else threads)
    run_log = None
    if log is not None:
        check_log(log, evaluation)
        run_log = RunLog(getattr(problem, "name", type(problem).__name__))
    played = None if chosen.rounds is None else Sum(chosen.rounds).add
    way = evaluation if run_log is None else "live"
    plan = Plan(recipe, problem, marks, way, seed, chosen.cell)
    stop = np.zeros(1, np.int64)

    def play(chunk: range) -> RunArrays:
        with recipe_and_problem_named(plan):
            return plan.run(chunk, stop, run_log, played)

    # Small chunks at first: they tell whether threads are worth having.
    most = max(1, min(runs // (4 * workers), CHUNK_ROUNDS // horizon))
    tasks = chunks(range(runs), most, first=1)
    results, done = RunArrays.empty(runs, marks.size), 0
    with closing(on_threads(play, tasks, workers, stop, threads is not None)) as finished:
        for chunk, part in finished:
            results.fill(chunk.start, part)
            for _ in chunk:
                done += 1
                if progress is not None:
                    progress(done)
    if run_log is not None and log is not None:
        run_log.write(log)
    numbers = results.regret, results.pulls, results.seconds
    return Runs(recipe, problem, horizon, seed, results.evaluation, marks, *numbers, chosen.cell)


def check_log(log: str | PathLike[str], evaluation: str) -> None:
    """Raise, before the work, where a log cannot be written."""
    require("polars", user="a log of simulate")
    if evaluation not in ("auto", "live"):
        raise InvalidArgument("evaluation", evaluation, '"live" with a log: kernels count no votes')
    check_file("log", file_path("log", log))


@contextmanager
def recipe_and_problem_named(plan: Plan) -> Iterator[None]:
    """Add the recipe and the problem to errors, such as one of a reward, that name neither."""
    try:
        yield
    except InvalidArgument as error:
        problem = getattr(plan.problem, "name", "") or type(plan.problem).__name__
        expected = f"{error.expected} ({type(plan.recipe).__name__} on {problem})"
        raise type(error)(error.argument, error.value, expected) from error


class Sum:
    """Sum of numbers that threads add, which a function is called with."""

    def __init__(self, call: Callable[[int], None]) -> None:
        self.call, self.sum, self.lock = call, 0, threading.Lock()

    def add(self, number: int) -> None:
        with self.lock:
            self.sum += number
            self.call(self.sum)
