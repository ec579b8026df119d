"""The recipes of a race, made for its problem."""

from dataclasses import replace

import numpy as np

from ensample.cli.policies import contender, split
from ensample.errors import AssumptionError, InvalidArgument
from ensample.policies import Recipe
from ensample.problems import Family

__all__ = ["prepare"]


def prepare(policies: str, family: Family, horizon: int) -> tuple[dict[str, Recipe], dict[str, str]]:
    """The recipes to race, and why others do not apply."""
    contenders = {name: contender(name) for name in split(policies)}
    drawn = family.draw(np.random.default_rng(0))  # every draw of a family has the same constants
    setting = drawn.setting(horizon)
    setting = replace(setting, norm=round(setting.norm, 12))  # |theta| = 1 up to rounding
    recipes: dict[str, Recipe] = {}
    skipped: dict[str, str] = {}
    for name, entry in contenders.items():
        try:
            recipe = entry.recipe(setting)
            recipe.check(drawn.arms)
            recipes[name] = recipe
        except AssumptionError as error:
            skipped[name] = str(error)
    if not recipes:
        reasons = "".join(f"; {name} does not: {reason}" for name, reason in skipped.items())
        raise InvalidArgument("policies", policies, f"at least one that applies to the problem{reasons}")
    return recipes, skipped
