"""Registry of the kernels that simulate recipes.

A kernel is registered for one type of recipe, one kind of problem, `FiniteProblem` (finitely many
arms) or `ContextualProblem` (arms that change every round, or the ball), and one type of model:

    simulates(LinUCB, FiniteProblem, Evaluation.EAGER)(
        plays("linucb", lambda recipe: {"factor": recipe.factor})
    )

The type must match exactly, since a subclass may decide otherwise than its parent; one that decides
alike is registered itself. Any other recipe is simulated by its live policy.
"""

import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from numpy.random import Generator

from ensample import _core
from ensample.arms import Arms
from ensample.calibration import Unknown
from ensample.errors import InvalidArgument, LiveSimulationWarning
from ensample.models import Linear, RewardModel
from ensample.policies.recipe import Recipe
from ensample.problems import Problem
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.randomness import RunGenerators
from ensample.types import FloatArray, IntArray


class Evaluation(StrEnum):
    """Evaluation of a recipe in a simulation, the fastest first."""

    LAZY = "lazy"  # only the member that acts
    EAGER = "eager"  # all members, or an algorithm without members
    LIVE = "live"  # the live policy, in Python


FASTEST_FIRST = list(Evaluation)
EVALUATIONS = ("auto", *(evaluation.value for evaluation in FASTEST_FIRST))
SLOW = "a hundred times slower (evaluation='live' says that this is meant)"

Arrays = FiniteProblem | ContextualProblem
Outcome = tuple[FloatArray, IntArray, FloatArray, FloatArray]
"""Regret at the checkpoints [C], pulls of all arms and the warm-up's, theta_hat and b."""

Simulate = Callable[[Any, "SimulatedRun"], Outcome]  # of a recipe
AnySimulate = TypeVar("AnySimulate", bound=Callable[..., Outcome])


class RunSettings(NamedTuple):
    """Settings with which the core begins a run (`RunSettings` of cpp/simulate/state.hpp)."""

    lam: float
    fixed_lam: float  # lam > 0 where it is given although the scales are learned; else 0
    sizes: FloatArray | None  # of the features [d], where they are given
    intercept: bool  # whether the last feature is the constant 1
    learns_scales: bool
    forgetting_rate: float
    checkpoints: IntArray  # [C]
    stop: IntArray  # [1] the run ends when it is not 0, as after Ctrl-C

    @classmethod
    def of(cls, recipe: Recipe, arms: Arms, checkpoints: IntArray, stop: IntArray) -> "RunSettings":
        lam, prior = recipe.model.strength(recipe.regularization, arms), recipe.prior(arms)
        learns_scales = isinstance(prior, Unknown)
        sizes, fixed_lam, intercept = prior if isinstance(prior, Unknown) else (None, lam, False)
        scales = fixed_lam, sizes, intercept, learns_scales
        return cls(lam, *scales, recipe.rate, checkpoints, stop)


class Rngs(NamedTuple):
    """Generators of a run, by purpose; None where a kernel draws nothing."""

    noise: Generator
    member: Generator | None = None
    perturbation: Generator | None = None
    context: Generator | None = None


class SimulatedRun(NamedTuple):
    """Problem, settings and generators of one run."""

    problem: Any  # of the kind that the kernel is registered for
    settings: RunSettings
    generators: RunGenerators

    def play(self, kernel: str, *streams: str, **options: Any) -> Outcome:
        """Simulate the run by a kernel of the core that draws noise, and from these streams.

        `Rngs` has the names of streams, `Options` of cpp/simulate/state.hpp those of options.
        """
        drawn = {stream: getattr(self.generators, stream) for stream in ("noise", *streams)}
        return _core.simulate(kernel, self.problem, self.settings, Rngs(**drawn), options)


class Kernel(NamedTuple):
    """Kernel for a type of recipe, a kind of problem and a type of model."""

    evaluation: Evaluation
    simulate: Simulate
    reasons: tuple[Callable[[Any], str], ...]  # each returns why it cannot run a recipe, or ""
    model: type[RewardModel]

    def why_not(self, recipe: Recipe) -> str:
        """Return why it cannot run a recipe; empty if it can."""
        if type(recipe.model) is not self.model:
            return f"this kernel does not know model={recipe.model!r}"
        return next(filter(None, (reason(recipe) for reason in self.reasons)), "")


KERNELS: dict[tuple[type[Recipe], type], list[Kernel]] = defaultdict(list)
"""Kernels by type of recipe and of problem, the fastest first."""


def simulates(
    recipe: type[Recipe],
    problem: type[FiniteProblem] | type[ContextualProblem],
    evaluation: Evaluation,
    *reasons: Callable[[Any], str],
    model: type[RewardModel] = Linear,
) -> Callable[[AnySimulate], AnySimulate]:
    """Register a function for recipes of this type, but for those that a reason speaks against."""

    def register(simulate: AnySimulate) -> AnySimulate:
        kernels = KERNELS[recipe, problem]
        kernels.append(Kernel(evaluation, simulate, reasons, model))
        kernels.sort(key=lambda kernel: FASTEST_FIRST.index(kernel.evaluation))
        return simulate

    return register


def plays(
    kernel: str | Callable[[Any], str], options: Callable[[Any], dict[str, Any]], *streams: str
) -> Simulate:
    """Return a function that simulates a recipe by a kernel of the core with these options."""

    def simulate(recipe: Recipe, run: SimulatedRun) -> Outcome:
        name = kernel if isinstance(kernel, str) else kernel(recipe)
        return run.play(name, *streams, **options(recipe))

    return simulate


def kernel_for(
    recipe: Recipe, problem: Problem, arrays: Arrays | None, evaluation: str
) -> Kernel | None:
    """Return the kernel for an evaluation (auto, lazy, eager or live); None for the live policy.

    `arrays` is the problem as kernels take it. Raise if no kernel has this evaluation.
    """
    registered = KERNELS.get((type(recipe), type(arrays)), [])
    able = (kernel for kernel in registered if not kernel.why_not(recipe))
    if evaluation == "auto":
        fastest = next(able, None)
        if fastest is None:
            reason = why_no_kernel(recipe, problem, arrays, registered)
            warn_once(f"{reason}: its live policy is simulated, about {SLOW}")
        return fastest
    by_evaluation = {kernel.evaluation: kernel for kernel in able}
    if evaluation != Evaluation.LIVE and evaluation not in by_evaluation:
        there = [each.value for each in Evaluation if each in {*by_evaluation, Evaluation.LIVE}]
        expected = f"'auto' or one of {', '.join(map(repr, there))} for {recipe!r}"
        raise InvalidArgument("evaluation", evaluation, expected)
    return by_evaluation.get(Evaluation(evaluation))


def why_no_kernel(
    recipe: Recipe, problem: Problem, arrays: Arrays | None, registered: list[Kernel]
) -> str:
    """Return why no kernel can simulate a recipe on a problem."""
    name, arms = type(recipe).__name__, type(problem.arms).__name__
    if arrays is None:
        faced = f"{type(problem).__name__} with {arms} and {type(problem.noise).__name__}"
        return f"{name} on {faced}, which kernels do not know"
    if not registered:
        return f"no kernel simulates {name} on {arms}"
    same = [kernel for kernel in registered if kernel.model is type(recipe.model)]
    return f"{name}: {(same or registered)[0].why_not(recipe)}"


WARNED: set[str] = set()
WARNED_LOCK = threading.Lock()


def warn_once(message: str) -> None:
    """Warn unless this process has already warned of the same, in any run or thread."""
    with WARNED_LOCK:
        if message in WARNED:
            return
        WARNED.add(message)
    warnings.warn(message, LiveSimulationWarning, stacklevel=2)
