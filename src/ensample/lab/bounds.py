"""What is proved of a cell."""

from ensample.errors import AssumptionError
from ensample.lab.cell import Cell
from ensample.problems import LinearProblem, example_of, setting_of
from ensample.theory import Guarantee


def guarantee_of(cell: Cell) -> Guarantee | None:
    """The guarantee of the theorem that the recipe follows, if its setting covers the problem and the horizon.

    None where rounds are forced, observations are given or the truth moves: the theorems are about algorithms that choose from
    the start, on one problem.
    """
    setting, problem = cell.recipe.setting, example_of(cell.family)
    forced = isinstance(problem, LinearProblem) and (len(problem.warmup) or len(problem.opening))
    if (
        setting is None
        or forced
        or problem.moves
        or not setting.covers(setting_of(cell.family, cell.horizon))
    ):
        return None
    try:
        return cell.recipe.guarantee(setting)
    except AssumptionError:
        return None
