"""Simulations as a plan: what replicates share, and the loop that plays them."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.checks import whole
from ensample.errors import InvalidArgument
from ensample.policies.recipe import Recipe
from ensample.problems import BernoulliNoise, Family, LinearProblem, Problem
from ensample.problems.problem import ContextualProblem, FiniteProblem, with_constant
from ensample.randomness import RunGenerators
from ensample.simulation import kernels as kernels  # registers them
from ensample.simulation.dispatch import Evaluation, Kernel, RunSettings, SimulatedRun, kernel_for
from ensample.simulation.live import RunLog, run_live
from ensample.types import FloatArray, IntArray

LONGEST = (1 << 31) - 1  # kernels count pulls in 32 bits


def checkpoint_rounds(horizon: int, count: int) -> IntArray:
    """Return at most `count` numbers of rounds, evenly spaced, the last being the horizon."""
    whole("horizon", horizon, 1, LONGEST)
    return np.unique(np.linspace(0, horizon, min(count, horizon) + 1)[1:].round().astype(np.int64))


def chunks(replicates: range, most: int, first: int) -> Iterator[range]:
    """Yield consecutive ranges of `first` replicates, twice, four times as many, ..., `most`."""
    start, size = replicates.start, min(first, most)
    while start < replicates.stop:
        yield range(start, min(start + size, replicates.stop))
        start, size = start + size, min(2 * size, most)


@dataclass(eq=False)
class RunArrays:
    """Results of consecutive replicates, a row each."""

    regret: FloatArray  # [runs, C] at the checkpoints
    seconds: FloatArray  # [runs] of work
    pulls: IntArray | None = None  # [runs, K]; None where arms are not numbered
    evaluation: str = ""  # lazy, eager or live

    @classmethod
    def empty(cls, runs: int, checkpoints: int) -> "RunArrays":
        return cls(np.full((runs, checkpoints), np.nan), np.full(runs, np.nan))

    def fill(self, first: int, part: "RunArrays") -> None:
        """Copy the rows of other results to those that begin at `first`."""
        rows = slice(first, first + len(part.regret))
        self.regret[rows], self.seconds[rows] = part.regret, part.seconds
        self.evaluation = part.evaluation
        if part.pulls is not None:
            self.put_pulls(rows, part.pulls)

    def put_pulls(self, rows: int | slice, pulls: IntArray) -> None:
        if self.pulls is None:
            self.pulls = np.zeros((len(self.regret), pulls.shape[-1]), np.int64)
        self.pulls[rows] = pulls


class PreparedProblem(NamedTuple):
    """Problem with its kernel and arrays: the same for every replicate on it."""

    problem: Problem
    kernel: Kernel | None  # None for the live policy
    arrays: FiniteProblem | ContextualProblem | None

    @property
    def evaluation(self) -> str:
        return Evaluation.LIVE.value if self.kernel is None else self.kernel.evaluation.value


@dataclass(frozen=True, eq=False)
class Plan:
    """Description of simulations. A replicate is a pure function of it and of its number."""

    recipe: Recipe
    problem: Problem | Family  # a family draws a problem of its own for each replicate
    checkpoints: IntArray  # [C] rounds, the last being the horizon
    evaluation: str = "auto"  # or lazy, eager, live
    seed: int = 0
    cell: int = 0
    best_first: bool = False  # whether pulls are sorted by the means of the arms

    def run(
        self,
        replicates: Sequence[int],
        stop: IntArray | None = None,
        log: RunLog | None = None,
        played: Callable[[int], None] | None = None,
    ) -> RunArrays:
        """Simulate replicates one after the other; end early once `stop[0]` is set.

        The decisions of live policies are written to `log`. `played` is called with numbers of
        rounds as they are played.
        """
        stop = np.zeros(1, np.int64) if stop is None else stop
        results = RunArrays.empty(len(replicates), self.checkpoints.size)
        generators = RunGenerators(self.seed, self.cell)
        fixed = None if isinstance(self.problem, Family) else self.prepared
        for row, number in enumerate(replicates):
            if stop[0]:
                break
            generators.move(number)
            problem = draw(self.problem, generators)
            start = time.perf_counter()
            prepared = fixed or self.prepare(problem)
            if prepared.kernel is None:
                watch = None if log is None else log.watch(number)
                regret, pulls = run_live(
                    self.recipe, problem, self.checkpoints, generators, stop, watch, played
                )
            else:
                regret, pulls = self._by_kernel(prepared, generators, stop)
                if played is not None:
                    played(int(self.checkpoints[-1]))
            results.regret[row], results.seconds[row] = regret, time.perf_counter() - start
            results.evaluation = prepared.evaluation
            if pulls is not None:
                results.put_pulls(row, pulls[best_first(problem)] if self.best_first else pulls)
        return results

    @cached_property
    def prepared(self) -> PreparedProblem:
        """The problem of all replicates."""
        assert isinstance(self.problem, Problem)
        return self.prepare(self.problem)

    def prepare(self, problem: Problem) -> PreparedProblem:
        """Check a problem and find its kernel and arrays."""
        recipe, horizon = self.recipe, int(self.checkpoints[-1])
        check_length(problem, horizon)
        recipe.check(problem.arms)
        arrays = problem.as_arrays(horizon) if can_be_learned(recipe, problem) else None
        kernel = kernel_for(recipe, problem, arrays, self.evaluation)
        if recipe.intercept and isinstance(arrays, FiniteProblem):
            arrays = with_constant(arrays)
        return PreparedProblem(problem, kernel, arrays)

    def _by_kernel(
        self, prepared: PreparedProblem, generators: RunGenerators, stop: IntArray
    ) -> tuple[FloatArray, IntArray | None]:
        """Return the regret at the checkpoints, and the pulls where arms are numbered."""
        assert prepared.kernel is not None
        arrays, arms = prepared.arrays, prepared.problem.arms
        settings = RunSettings.of(self.recipe, arms, self.checkpoints, stop)
        run = SimulatedRun(arrays, settings, generators)
        regret, pulls, *_ = prepared.kernel.simulate(self.recipe, run)
        return regret, pulls_of(arrays, pulls) if isinstance(arrays, FiniteProblem) else None


def draw(problem: Problem | Family, generators: RunGenerators) -> Problem:
    return problem.draw(generators.problem) if isinstance(problem, Family) else problem


def can_be_learned(recipe: Recipe, problem: Problem) -> bool:
    """Return True if the model is for all rewards of the problem.

    Kernels check no reward; live policies do.
    """
    everything = recipe.model.reward_range == (-math.inf, math.inf)
    return everything or isinstance(problem.noise, BernoulliNoise)


def check_length(problem: Problem, horizon: int) -> None:
    """Raise if a run is longer than kernels can count: the rounds of the warm-up are pulls too."""
    warmup = len(problem.warmup) if isinstance(problem, LinearProblem) else 0
    if warmup + horizon > LONGEST:
        reason = f"which is 2^31 - 1 without the {warmup} rounds of the warm-up"
        raise InvalidArgument("horizon", horizon, f"at most {LONGEST - warmup}, {reason}")


def pulls_of(problem: FiniteProblem, pulls: IntArray) -> IntArray:
    """Return the pulls of the arms on offer, without the warm-up."""
    arms = problem.by_coordinate.shape[1]
    if problem.warmup.size:
        pulls = pulls - np.bincount(problem.warmup, minlength=len(pulls))
    return pulls[:arms]


def best_first(problem: Problem) -> IntArray:
    """Return the arms sorted by their means."""
    assert isinstance(problem.arms, FiniteArms)
    features = problem.arms.features
    linear = type(problem).mean is Problem.mean
    means = features @ problem.theta if linear else np.array([problem.mean(x) for x in features])
    return np.argsort(-means, kind="stable")
