"""What an experiment is, from JSON: recipes and featurisers by their names, with some of their fields."""

from dataclasses import fields, is_dataclass
from typing import Any

import ensample as es
from ensample.errors import EnsampleError, InvalidArgument, WrongType
from ensample.experiments.features import Encoder, Features
from ensample.policies.describe import PARTS as RECIPE_PARTS
from ensample.policies.recipe import Recipe
from ensample.registry import one_of, public_classes
from ensample.service.fields import LONGEST
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
    """A part of this library of what JSON says: {"kind": "EnsembleSampling", "size": 30}. Nothing else is looked up."""
    if isinstance(description, list):
        check_size(argument, len(description), settings)
        return tuple(
            made(f"{argument}[{place}]", item, settings) for place, item in enumerate(description)
        )
    if not isinstance(description, dict):
        check_size(argument, description, settings)
        return description
    bases = (Recipe, *RECIPE_PARTS) if argument.startswith("recipe") else (Features, Encoder)
    known_kinds = {
        name: kind for name, kind in public_classes(*bases).items() if is_dataclass(kind)
    }
    name = description.get("kind")
    if not isinstance(name, str) or name not in known_kinds:
        raise InvalidArgument(
            f"{argument}.kind", name, one_of(str(name)[:LONGEST], list(known_kinds))
        )
    return built(argument, known_kinds[name], description, settings)


def built(
    argument: str, kind: type[Any], description: dict[str, Any], settings: ServiceSettings
) -> Any:
    allowed = {item.name for item in fields(kind) if item.init or item.name == "names"}
    arguments = {}
    for field, value in description.items():
        if field == "kind":
            continue
        if field not in allowed:
            expected = f"a field of {kind.__name__}: {one_of(field[:LONGEST], sorted(allowed))}"
            raise InvalidArgument(f"{argument}.{field}", value, expected)
        arguments[field] = made(f"{argument}.{field}", value, settings)
    names = arguments.pop("names", ())
    try:
        return kind(*names, **arguments)
    except InvalidArgument as error:
        refusal = WrongType if isinstance(error, WrongType) else InvalidArgument
        raise refusal(f"{argument}.{error.argument}", error.value, error.expected) from None
    except EnsampleError as error:
        raise InvalidArgument(argument, description, str(error)) from None
    except Exception as error:  # a field that is missing, or of a type that nobody expected
        raise InvalidArgument(
            argument, description, f"fields that {kind.__name__} accepts ({type(error).__name__})"
        ) from None


def check_size(argument: str, value: Any, settings: ServiceSettings) -> None:
    """Memory is the square of some numbers."""
    most = settings.members if argument.startswith("recipe") else settings.columns
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > most:
        raise InvalidArgument(argument, value, f"at most {most}")
