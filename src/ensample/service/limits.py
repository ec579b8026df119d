"""Limits on the size of one call: an authorized caller can be mistaken too."""

from collections.abc import Sequence
from typing import Any

from ensample.errors import InvalidArgument
from ensample.service.schemas import Actions, Context
from ensample.service.settings import ServiceSettings

CHARACTERS = (
    100  # of a feature's name and text on average: names are made and hashed for each action
)


def check_batch(items: Sequence[Any], settings: ServiceSettings) -> None:
    if len(items) > settings.batch:
        raise InvalidArgument("batch", len(items), f"at most {settings.batch} items")


def check_names(argument: str, names: list[str] | None, settings: ServiceSettings) -> None:
    if names is not None and len(names) > settings.actions:
        raise InvalidArgument(argument, len(names), f"at most {settings.actions} actions")


def check_actions(actions: Actions | None, settings: ServiceSettings) -> tuple[int, int]:
    """Return the features and characters of the largest action. Raise if there are too many."""
    if actions is None:
        return 0, 0
    if len(actions) > settings.actions:
        raise InvalidArgument("actions", len(actions), f"at most {settings.actions} actions")
    features = characters = 0
    for name, context in actions.items() if isinstance(actions, dict) else ():
        more = check_features(f"actions.{name}", context, settings)
        features, characters = max(features, more[0]), max(characters, more[1])
    return features, characters + max(map(len, actions), default=0)


def check_offer(
    context: Context | None, actions: Actions | None, standing: int, settings: ServiceSettings
) -> None:
    """Raise if one decision has too many features. `standing`: actions that the experiment has."""
    features, characters = check_features("context", context, settings)
    count = standing
    if actions is not None:
        own = check_actions(actions, settings)
        count, features, characters = len(actions), features + own[0], characters + own[1]
    if count * features > settings.cells:
        expected = f"at most {settings.cells} of all {count} actions together"
        raise InvalidArgument("context", f"{features} features", expected)
    if count * characters > CHARACTERS * settings.cells:
        expected = f"at most {CHARACTERS * settings.cells} of all {count} actions together"
        raise InvalidArgument("context", f"{characters} characters", expected)


def check_features(
    argument: str, context: Context | None, settings: ServiceSettings
) -> tuple[int, int]:
    """Return the features of a context and the characters of their names and texts.

    Raise if there are too many.
    """
    if context is None:
        return 0, 0
    features, characters = size_of(context, settings.depth)
    if features > settings.features:
        raise InvalidArgument(argument, f"{features} features", f"at most {settings.features}")
    if characters > CHARACTERS * settings.features:
        expected = f"at most {CHARACTERS * settings.features} in names and texts"
        raise InvalidArgument(argument, f"{characters} characters", expected)
    return features, characters


def check_numbers(argument: str, value: Any, most: int, depth: int) -> None:
    """Raise if a number or a list is too large: memory is the square of some numbers."""
    if depth < 0:
        raise InvalidArgument(argument, "JSON", "fewer levels of objects (setting `depth`)")
    if isinstance(value, dict):
        for name, item in value.items():
            check_numbers(f"{argument}.{name}", item, most, depth - 1)
    elif isinstance(value, list):
        check_numbers(argument, len(value), most, depth)
        for place, item in enumerate(value):
            check_numbers(f"{argument}[{place}]", item, most, depth - 1)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > most:
        raise InvalidArgument(argument, value, f"at most {most}")


def size_of(value: Any, depth: int, path: int = 0) -> tuple[int, int]:
    """Return the features and characters of a value whose name has `path` characters.

    >>> size_of({"age": 31, "tags": ["tennis", "tea"], "home": {"city": "Kiel"}}, depth=2)
    (4, 32)
    """
    if depth < 0:
        raise InvalidArgument("context", "JSON", "fewer levels of objects (setting `depth`)")
    if type(value) is list:
        texts = sum(len(item) for item in value if type(item) is str)
        return len(value), len(value) * path + texts
    features = characters = 0
    for name, item in value.items():
        kind, length = type(item), path + len(name)
        if kind is dict or kind is list:
            more = size_of(item, depth - 1, length)
            features, characters = features + more[0], characters + more[1]
        elif item is not None:
            features += 1
            characters += length + len(item) if kind is str else length
    return features, characters
