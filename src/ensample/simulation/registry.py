"""Kernels that are still compiled by numba (`simulation.algorithms`). Those whose functions are PORTED are in `kernels.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ensample.kernels.calibration import scale_views
from ensample.kernels.scene import Scene
from ensample.kernels.track import GIVEN, LEARNING, Track
from ensample.kernels.world import World
from ensample.models import Linear, RewardModel
from ensample.policies.recipe import Recipe
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.randomness import RunGenerators
from ensample.simulation import dispatch
from ensample.simulation.dispatch import Evaluation, Run
from ensample.simulation.state import RunState

__all__ = ["Evaluation", "simulates"]

PORTED = {
    "eager",
    "ensemble_plus_plus",
    "greedy",
    "history",
    "information_directed",
    "kveton_phe",
    "lazy",
    "linucb",
    "moving_ensemble",
    "multiplier_bootstrap",
    "sup_linucb",
}
"""Modules, or functions as "module.name", whose recipes the compiled core simulates."""

PROBLEMS: dict[type, type[FiniteProblem] | type[ContextualProblem]] = {World: FiniteProblem, Scene: ContextualProblem}


def simulates(
    recipe: type[Recipe],
    place: type[World] | type[Scene],
    way: Evaluation,
    unless: Callable[[Any], str] = dispatch.no_obstacle,
    model: type[RewardModel] = Linear,
) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        module = run.__module__.rpartition(".")[2]
        if module not in PORTED and f"{module}.{run.__name__}" not in PORTED:
            dispatch.simulates(recipe, PROBLEMS[place], way, unless, model)(through_numba(run))
        return run

    return register


def through_numba(run: Run) -> Run:
    def play(recipe: Recipe, problem: FiniteProblem | ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
        place = World(*problem) if isinstance(problem, FiniteProblem) else Scene(*problem)
        run(recipe, place, track_of(state), rngs)

    return play


def track_of(state: RunState) -> Track:
    tally: Any = (LEARNING if state.counters["next_calibration"][0] < np.inf else GIVEN).copy()[0]
    return Track(
        state.lam,
        state.fixed_lam,
        state.sizes_given,
        state.forgetting_rate,
        state.intercept,
        scale_views(state.scales),
        state.prior,
        state.prior_root,
        state.gram,
        state.counted,
        state.inverse,
        state.mean,
        state.target,
        state.pulls,
        state.gain,
        tally,
        state.checkpoints,
        state.regret,
        state.scores,
        state.stop,
    )
