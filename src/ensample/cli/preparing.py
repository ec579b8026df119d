"""The recipes of a race, made for its problem."""

from ensample.cli.policies import contender, split
from ensample.errors import AssumptionError, InvalidArgument
from ensample.policies import Recipe
from ensample.problems import Family, Problem, constants_of, example_of, setting_of

__all__ = ["prepare"]


def prepare(policies: str, problem: Problem | Family, horizon: int) -> tuple[dict[str, Recipe], dict[str, str]]:
    """The recipes to race, and why others do not apply."""
    contenders = {name: contender(name) for name in split(policies)}
    example = example_of(problem)
    setting, arms = constants_of(problem, horizon), example.arms
    recipes: dict[str, Recipe] = {}
    skipped: dict[str, str] = {}
    for name, entry in contenders.items():
        try:
            recipe = entry.recipe(setting)
            if recipe.setting is not None and not example.linear:
                setting_of(problem, horizon)  # which says what is wrong
            recipe.check(arms)
            recipes[name] = recipe
        except AssumptionError as error:
            skipped[name] = str(error)
    if not recipes:
        reasons = "".join(f"; {name} does not: {reason}" for name, reason in skipped.items())
        raise InvalidArgument("policies", policies, f"at least one that applies to the problem{reasons}")
    return recipes, skipped
