"""Replicates of one recipe on one problem, one after the other: the loop that `simulate` and studies share."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ensample.calibration import Unknown
from ensample.errors import InvalidArgument
from ensample.policies.recipe import Recipe
from ensample.problems import BernoulliNoise, Family, LinearProblem, Problem
from ensample.problems.arrays import ContextualProblem, FiniteProblem, with_constant
from ensample.randomness import RunGenerators
from ensample.simulation import kernels as kernels  # registers kernels, as do the next two
from ensample.simulation import logistic_kernels as logistic_kernels
from ensample.simulation import recipes as recipes
from ensample.simulation.dispatch import Evaluation, Kernel, SimulatedRun, kernel_for
from ensample.simulation.live import Watch, run_live
from ensample.simulation.run_log import RunLog
from ensample.simulation.state import RunSize, RunState, RunStates
from ensample.types import FloatArray, IntArray

LONGEST = (1 << 31) - 1  # kernels count pulls in 32 bits


class Job(NamedTuple):
    """Description of runs. A replicate is a pure function of it and of the replicate's number."""

    recipe: Recipe
    problem: Problem | Family  # a family draws a problem of its own for each replicate
    checkpoints: IntArray  # [C] rounds, the last being the horizon
    evaluation: str
    seed: int
    cell: int
    log: RunLog | None = None  # where decisions are written; the live policy plays then
    played: Callable[[int], None] | None = None  # is told of rounds as they are played


class Replicate(NamedTuple):
    """Result of one run."""

    problem: Problem
    evaluation: str
    regret: FloatArray  # [C]
    pulls: IntArray | None  # [K]; None where arms are not numbered
    seconds: float  # of work


class PreparedProblem(NamedTuple):
    """Problem with its kernel and arrays: the same for every replicate on it."""

    problem: Problem
    kernel: Kernel | None  # None: the live policy plays
    arrays: FiniteProblem | ContextualProblem | None
    size: RunSize
    unknown: Unknown | None  # scales that are learned


class Workspace:
    """Generators and arrays of one thread, reused from replicate to replicate.

    Short runs are faster by it.
    """

    def __init__(self, job: Job, stop: IntArray) -> None:
        self.stop = stop
        self.rngs = RunGenerators(job.seed, job.cell)
        self.states = RunStates(job.checkpoints, stop, job.recipe.rate)


def replicates(job: Job, numbers: Iterable[int], workspace: Workspace) -> Iterator[Replicate]:
    """Yield the replicates with these numbers; end early once `stop[0]` of the workspace is set."""
    prepared = None if isinstance(job.problem, Family) else prepare(job, job.problem)
    for number in numbers:
        if workspace.stop[0]:
            return
        rngs = workspace.rngs.move(number)
        drawn = job.problem.draw(rngs.problem) if isinstance(job.problem, Family) else job.problem
        start = time.perf_counter()
        faced = prepared or prepare(job, drawn)
        outcome = run(job, faced, workspace, None if job.log is None else job.log.watch(number))
        yield Replicate(faced.problem, *outcome, time.perf_counter() - start)


def prepare(job: Job, problem: Problem) -> PreparedProblem:
    """Check a problem and find its kernel and arrays."""
    recipe, horizon = job.recipe, int(job.checkpoints[-1])
    check_length(problem, horizon)
    recipe.check(problem.arms)
    arrays = problem.place(horizon) if can_be_learned(recipe, problem) else None
    kernel = kernel_for(recipe, problem, arrays, job.evaluation)
    if recipe.intercept and isinstance(arrays, FiniteProblem):
        arrays = with_constant(arrays)
    prior = None if kernel is None else recipe.prior(problem.arms)
    unknown = prior if isinstance(prior, Unknown) else None
    return PreparedProblem(
        problem, kernel, arrays, RunSize.of(arrays, problem.arms.dim + recipe.intercept), unknown
    )


def can_be_learned(recipe: Recipe, problem: Problem) -> bool:
    """Return True if the model is for all rewards of the problem.

    Kernels check no reward; live policies do.
    """
    return recipe.model.reward_range == (-math.inf, math.inf) or isinstance(
        problem.noise, BernoulliNoise
    )


def run(
    job: Job, prepared: PreparedProblem, workspace: Workspace, watch: Watch | None = None
) -> tuple[str, FloatArray, IntArray | None]:
    """Return (evaluation used, regret at the checkpoints, pulls)."""
    recipe, arrays = job.recipe, prepared.arrays
    if prepared.kernel is None or arrays is None:
        live = run_live(
            recipe,
            prepared.problem,
            job.checkpoints,
            workspace.rngs,
            workspace.stop,
            watch,
            job.played,
        )
        return Evaluation.LIVE.value, *live
    lam = recipe.model.strength(recipe.regularization, prepared.problem.arms)
    state = workspace.states.reset(prepared.size, lam, prepared.unknown)
    prepared.kernel.simulate(recipe, SimulatedRun(arrays, state, workspace.rngs))
    if job.played is not None:
        job.played(int(job.checkpoints[-1]))
    return prepared.kernel.evaluation.value, state.regret.copy(), pulls_of(arrays, state)


def check_length(problem: Problem, horizon: int) -> None:
    """Raise if a run is longer than kernels can count: the rounds of the warm-up are pulls too."""
    warmup = len(problem.warmup) if isinstance(problem, LinearProblem) else 0
    if warmup + horizon > LONGEST:
        expected = f"at most {LONGEST - warmup}, which is 2^31 - 1 without the {warmup} rounds of the warm-up"
        raise InvalidArgument("horizon", horizon, expected)


def pulls_of(problem: FiniteProblem | ContextualProblem, state: RunState) -> IntArray | None:
    """Return the pulls of the arms on offer, without the warm-up; None if arms are not numbered."""
    if not isinstance(problem, FiniteProblem):
        return None
    arms = problem.by_coordinate.shape[1]
    warm = np.bincount(problem.warmup, minlength=arms)[:arms] if problem.warmup.size else 0
    return state.pulls[:arms].astype(np.int64) - warm
