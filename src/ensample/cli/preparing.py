"""The recipes of a race, made for its problem."""

from ensample.cli.policies import contender, split
from ensample.errors import AssumptionError, InvalidArgument
from ensample.policies import Recipe
from ensample.problems import Family, Problem, constants_of, example_of, setting_of


def prepare(
    policies: str, problem: Problem | Family, horizon: int
) -> tuple[dict[str, Recipe], dict[str, str]]:
    """Return the recipes to race, and why others do not apply.

    Those that are told the noise get its standard deviation where it is not subGaussian; theorems do not apply there.
    """
    contenders = {name: contender(name) for name in split(policies)}
    setting, arms = constants_of(problem, horizon), example_of(problem).arms
    recipes: dict[str, Recipe] = {}
    skipped: dict[str, str] = {}
    for name, entry in contenders.items():
        try:
            recipe = entry.recipe(setting)
            if recipe.setting is not None:
                setting_of(problem, horizon)  # raises where no theorem applies
            recipe.check(arms)
            recipes[name] = recipe
        except AssumptionError as error:
            skipped[name] = str(error)
    if not recipes:
        reasons = "".join(f"; {name} does not: {reason}" for name, reason in skipped.items())
        raise InvalidArgument(
            "policies", policies, f"at least one that applies to the problem{reasons}"
        )
    return recipes, skipped
