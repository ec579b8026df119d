"""How much may be asked at once: an authorised caller can be mistaken too."""

from typing import Any

from ensample.errors import InvalidArgument
from ensample.serve.messages import Actions, Context
from ensample.serve.service_settings import ServiceSettings

__all__ = ["check_actions", "check_batch", "check_offer"]


def check_batch(items: list[Any], settings: ServiceSettings) -> None:
    if len(items) > settings.batch:
        raise InvalidArgument("batch", len(items), f"at most {settings.batch} items")


def check_actions(actions: Actions | None, settings: ServiceSettings) -> int:
    """The number of features of the action that has most of them."""
    if actions is None:
        return 0
    if len(actions) > settings.actions:
        raise InvalidArgument("actions", len(actions), f"at most {settings.actions} actions")
    owned = actions.items() if isinstance(actions, dict) else ()
    return max((check_features(f"actions.{name}", features, settings) for name, features in owned), default=0)


def check_offer(context: Context | None, actions: Actions | None, standing: int, settings: ServiceSettings) -> None:
    """Of one decision."""
    own = check_actions(actions, settings)
    count = standing if actions is None else len(actions)
    features = check_features("context", context, settings) + own
    if count * features > settings.cells:
        raise InvalidArgument("context", f"{features} features", f"at most {settings.cells} of all {count} actions together")


def check_features(argument: str, value: Context | None, settings: ServiceSettings) -> int:
    count = leaves(value)
    if count > settings.features:
        raise InvalidArgument(argument, f"{count} features", f"at most {settings.features}")
    return count


def leaves(value: Any) -> int:
    """The number of values in it.

    >>> leaves({"age": 31, "tags": ["tennis", "tea"], "home": {"city": "Kiel"}})
    4
    """
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    return len(value) if isinstance(value, list) else 0 if value is None else 1
