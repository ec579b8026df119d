"""Actions: names, with features or without."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensample.checks import repeated
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoder import named
from ensample.experiments.plain import PlainDict, plain_context
from ensample.frames import is_column

Actions = dict[str, PlainDict | None]
"""Names, and the features of those that have any, in the order in which they came."""

MOST_ACTIONS = 10_000
EXPECTED = "names of actions, or a dict of names and features"


def as_actions(argument: str, value: Any) -> Actions:
    """A list of names, or a dict from names to features (dicts or rows of numbers; None for none).

    >>> as_actions("actions", {"small": {"price": 3}, "large": [5.0, 1.0], "none": None})
    {'small': {'price': 3}, 'large': {'0': 5.0, '1': 1.0}, 'none': None}
    """
    if isinstance(value, Mapping):
        found = {
            checked_name(argument, name): own_features(f"{argument}[{name!r}]", item)
            for name, item in value.items()
        }
    elif isinstance(value, Sequence | np.ndarray | set | frozenset) or is_column(value):
        if isinstance(value, str | bytes):
            raise WrongType(argument, value, EXPECTED)
        names = [
            checked_name(argument, name)
            for name in (sorted(value) if isinstance(value, set | frozenset) else value)
        ]
        found = dict.fromkeys(names)
        if (twice := repeated(names)) is not None:
            raise InvalidArgument(argument, twice, "names of actions, none of them twice")
    else:
        raise WrongType(argument, value, EXPECTED)
    if not 0 < len(found) <= MOST_ACTIONS:
        raise InvalidArgument(argument, value, f"1 to {MOST_ACTIONS} actions")
    return found


def checked_name(argument: str, name: object) -> str:
    if not isinstance(name, str):
        raise WrongType(argument, name, EXPECTED)
    if not name or len(name) > 1_000:
        raise InvalidArgument(argument, name, "names of 1 to 1,000 characters")
    if any("\ud800" <= sign <= "\udfff" for sign in name):
        raise InvalidArgument(argument, name, "names that can be written as UTF-8")
    return str(name)


def own_features(argument: str, value: Any) -> PlainDict | None:
    return None if value is None else named(plain_context(argument, value))
