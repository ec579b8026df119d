"""Settings of an experiment from JSON: recipes and featurisers by their names, with some fields."""

from typing import Any

import ensample as es
from ensample.codec import RECIPES, from_json
from ensample.errors import InvalidArgument
from ensample.service.messages import ExperimentCall
from ensample.service.service_settings import ServiceSettings


def given_of(call: ExperimentCall, settings: ServiceSettings) -> dict[str, Any]:
    """What `begun` is given."""
    rules = call.reward
    found: dict[str, Any] = {
        "actions": call.actions,
        "reward": None
        if rules is None
        else es.Reward(rules.low, rules.high, rules.wait, rules.default, rules.rule),
        "features": None if call.features is None else made("features", call.features, settings),
        "recipe": None if call.recipe is None else made("recipe", call.recipe, settings),
        "floor": call.floor,
        "baseline": call.baseline,
        "seed": call.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def made(argument: str, description: Any, settings: ServiceSettings) -> Any:
    """Return the recipe or the features that JSON describes: {"kind": "EnsembleSampling", "size": 30}."""
    is_recipe = argument.startswith("recipe")
    check_sizes(argument, description, settings.members if is_recipe else settings.columns)
    return from_json(argument, description, RECIPES if is_recipe else ("Features", "Encoder"))


def check_sizes(argument: str, value: Any, most: int) -> None:
    """Raise if a number or a list is too large: memory is the square of some numbers."""
    if isinstance(value, dict):
        for name, item in value.items():
            check_sizes(f"{argument}.{name}", item, most)
    elif isinstance(value, list):
        check_sizes(argument, len(value), most)
        for place, item in enumerate(value):
            check_sizes(f"{argument}[{place}]", item, most)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > most:
        raise InvalidArgument(argument, value, f"at most {most}")
