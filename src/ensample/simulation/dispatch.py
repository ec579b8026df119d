"""Which kernel of the compiled core simulates which recipe.

A kernel is registered for one type of recipe and one kind of problem: `FiniteProblem` (finitely many arms) or
`ContextualProblem` (arms that change every round, or the ball).

    @simulates(LinUCB, FiniteProblem, Evaluation.EAGER)
    def linucb(recipe: LinUCB, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
        run("linucb", problem, state, Rngs(rngs.noise), factor=recipe.factor)

The type must match exactly. A subclass may play otherwise than its parent: it is simulated by its live policy until somebody
says that a kernel does what it does, `simulates(Mine, FiniteProblem, Evaluation.EAGER)(linucb)`. A kernel is also for one type
of model, `Linear` unless it says another.
"""

import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from ensample import _core
from ensample.errors import InvalidArgument, LiveSimulationWarning
from ensample.models import Linear, RewardModel
from ensample.policies.recipe import Recipe
from ensample.problems import Problem
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.state import Rngs, RunState

__all__ = ["EVALUATIONS", "KERNELS", "Evaluation", "Kernel", "kernel_for", "run", "simulates"]


class Evaluation(StrEnum):
    """How a simulation evaluates a recipe, the fastest way first."""

    LAZY = "lazy"  # only the member that acts
    EAGER = "eager"  # all members, or an algorithm without members
    LIVE = "live"  # the live policy, in Python


FASTEST_FIRST = list(Evaluation)
EVALUATIONS = ("auto", *(way.value for way in FASTEST_FIRST))

Arrays = FiniteProblem | ContextualProblem
Run = Callable[..., None]  # (recipe, problem, state, random numbers): one run, written to the state
Given = TypeVar("Given", bound=Run)


def run(kernel: str, problem: Arrays, state: RunState, rngs: Rngs, **options: Any) -> None:
    """Play a run to its end by a kernel of the core. `Options` of cpp/simulate/state.hpp has the names of options."""
    _core.simulate(kernel, problem, state, rngs, options)


class Kernel(NamedTuple):
    """One way to simulate a type of recipe on a kind of problem."""

    way: Evaluation
    run: Run
    unless: Callable[[Any], str]  # why it cannot run a recipe of that type; empty where it can
    model: type[RewardModel]

    def obstacle(self, recipe: Recipe) -> str:
        """Return why it cannot run a recipe; empty where it can."""
        if type(recipe.model) is not self.model:
            return f"this kernel does not know model={recipe.model!r}"
        return self.unless(recipe)


KERNELS: dict[tuple[type[Recipe], type], list[Kernel]] = defaultdict(list)
"""By type of recipe and of problem, the fastest first."""


def no_obstacle(recipe: Recipe) -> str:
    return ""


def simulates(
    recipe: type[Recipe],
    problem: type[FiniteProblem] | type[ContextualProblem],
    way: Evaluation,
    unless: Callable[[Any], str] = no_obstacle,
    model: type[RewardModel] = Linear,
) -> Callable[[Given], Given]:
    """Register a function as the way to simulate recipes of this type, `unless` it gives a reason why it cannot."""

    def register(run: Given) -> Given:
        kernels = KERNELS[recipe, problem]
        kernels.append(Kernel(way, run, unless, model))
        kernels.sort(key=lambda kernel: FASTEST_FIRST.index(kernel.way))
        return run

    return register


def kernel_for(recipe: Recipe, problem: Problem, arrays: Arrays | None, asked: str) -> Kernel | None:
    """Return the kernel that `asked` (auto, lazy, eager or live) stands for; None: the live policy.

    `arrays` is the problem as kernels see it. Raises where there is no such kernel.
    """
    registered = KERNELS.get((type(recipe), type(arrays)), [])
    able = (kernel for kernel in registered if not kernel.obstacle(recipe))
    if asked == "auto":
        fastest = next(able, None)
        if fastest is None:
            warn_once(f"{obstacle(recipe, problem, arrays, registered)}: {SLOW}")
        return fastest
    by_way = {kernel.way: kernel for kernel in able}
    if asked != Evaluation.LIVE and asked not in by_way:
        ways = ", ".join(repr(way.value) for way in Evaluation if way in by_way or way is Evaluation.LIVE)
        raise InvalidArgument("evaluation", asked, f"'auto' or one of {ways} for {recipe!r}")
    return by_way.get(Evaluation(asked))


SLOW = "its live policy is simulated, about a hundred times slower (evaluation='live' says that this is meant)"


def obstacle(recipe: Recipe, problem: Problem, arrays: Arrays | None, registered: list[Kernel]) -> str:
    """Return why no kernel can."""
    name = type(recipe).__name__
    if arrays is None:
        kinds = type(problem.arms).__name__, type(problem.noise).__name__
        return f"{name} on {type(problem).__name__} with {kinds[0]} and {kinds[1]}, which kernels do not know"
    if not registered:
        return f"no kernel simulates {name} on {type(problem.arms).__name__}"
    same = [kernel for kernel in registered if kernel.model is type(recipe.model)]
    return f"{name}: {(same or registered)[0].obstacle(recipe)}"


SAID: set[str] = set()
SAYING = threading.Lock()


def warn_once(message: str) -> None:
    """Warn once in this process, whatever the number of runs and threads."""
    with SAYING:
        if message in SAID:
            return
        SAID.add(message)
    warnings.warn(message, LiveSimulationWarning, stacklevel=2)
