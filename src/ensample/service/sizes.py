"""How much may be asked at once: an authorised caller can be mistaken too."""

from typing import Any, NamedTuple

from ensample.errors import InvalidArgument
from ensample.service.messages import Actions, Context
from ensample.service.service_settings import ServiceSettings

CHARACTERS = 100  # of the name and the text of a feature, on average: names are made and hashed for each action


class Size(NamedTuple):
    """Features of a context or an action, and characters of their names and texts."""

    features: int
    characters: int


def check_batch(items: list[Any], settings: ServiceSettings) -> None:
    if len(items) > settings.batch:
        raise InvalidArgument("batch", len(items), f"at most {settings.batch} items")


def check_names(argument: str, names: list[str] | None, settings: ServiceSettings) -> None:
    if names is not None and len(names) > settings.actions:
        raise InvalidArgument(argument, len(names), f"at most {settings.actions} actions")


def check_actions(actions: Actions | None, settings: ServiceSettings) -> Size:
    """Return the size of the largest action."""
    if actions is None:
        return Size(0, 0)
    if len(actions) > settings.actions:
        raise InvalidArgument("actions", len(actions), f"at most {settings.actions} actions")
    owned = actions.items() if isinstance(actions, dict) else ()
    sizes = [check_features(f"actions.{name}", features, settings) for name, features in owned]
    names = max(map(len, actions), default=0)
    return Size(
        max((size.features for size in sizes), default=0),
        max((size.characters for size in sizes), default=0) + names,
    )


def check_offer(
    context: Context | None, actions: Actions | None, standing: int, settings: ServiceSettings
) -> None:
    """Raise if one decision has too many features."""
    own, shared = check_actions(actions, settings), check_features("context", context, settings)
    count = standing if actions is None else len(actions)
    features, characters = own.features + shared.features, own.characters + shared.characters
    if count * features > settings.cells:
        expected = f"at most {settings.cells} of all {count} actions together"
        raise InvalidArgument("context", f"{features} features", expected)
    if count * characters > CHARACTERS * settings.cells:
        expected = f"at most {CHARACTERS * settings.cells} of all {count} actions together"
        raise InvalidArgument("context", f"{characters} characters", expected)


def check_features(argument: str, value: Context | None, settings: ServiceSettings) -> Size:
    size = size_of(value)
    if size.features > settings.features:
        raise InvalidArgument(argument, f"{size.features} features", f"at most {settings.features}")
    if size.characters > CHARACTERS * settings.features:
        expected = f"at most {CHARACTERS * settings.features} in names and texts"
        raise InvalidArgument(argument, f"{size.characters} characters", expected)
    return size


def size_of(value: Any, path: int = 0) -> Size:
    """Return the size of the values in it, whose names begin with a path of so many characters.

    >>> size_of({"age": 31, "tags": ["tennis", "tea"], "home": {"city": "Kiel"}})
    Size(features=4, characters=32)
    """
    if isinstance(value, dict):
        features = characters = 0
        for name, item in value.items():
            size = size_of(item, path + len(name))
            features, characters = features + size.features, characters + size.characters
        return Size(features, characters)
    items = value if isinstance(value, list) else () if value is None else (value,)
    texts = sum(len(item) for item in items if isinstance(item, str))
    return Size(len(items), len(items) * path + texts)
