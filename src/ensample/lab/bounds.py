"""The theorem's bound for a cell, where one applies."""

from ensample import theory
from ensample.errors import AssumptionError
from ensample.lab.cell import Cell
from ensample.lab.parts import example_of
from ensample.members import UNIFORM_MEMBER, OptimisticMember
from ensample.policies import EnsembleSampling, LinUCB, PerturbedHistory
from ensample.problems import LinearProblem

__all__ = ["bound_of"]


def bound_of(cell: Cell) -> tuple[float | None, float | None]:
    """(bound on the regret, with which probability) of the theorem that the recipe follows at this horizon.

    None where rounds are forced or observations are given: the theorems are about algorithms that choose from the start.
    """
    recipe, setting, problem = cell.recipe, cell.recipe.setting, example_of(cell.family)
    forced = isinstance(problem, LinearProblem) and (len(problem.warmup) or len(problem.opening))
    if setting is None or setting.horizon != cell.horizon or forced:
        return None, None
    try:
        if isinstance(recipe, EnsembleSampling) and recipe.member == OptimisticMember():
            enough = recipe.size >= theory.optimistic_size(setting)
            return (theory.optimistic_bound(setting), 1.0 - 3.0 * setting.delta) if enough else (None, None)
        if isinstance(recipe, EnsembleSampling) and recipe.member == UNIFORM_MEMBER:
            enough = recipe.size >= theory.ensemble_size(setting, recipe.reward_law)
            return (theory.theorem_bound(setting, recipe.reward_law), 1.0 - 4.0 * setting.delta) if enough else (None, None)
        if isinstance(recipe, PerturbedHistory):
            return theory.phe_bound(setting, recipe.reward_law), 1.0 - 3.0 * setting.delta
        if isinstance(recipe, LinUCB):
            return theory.ucb_bound(setting), 1.0 - 2.0 * setting.delta
    except AssumptionError:
        pass
    return None, None
