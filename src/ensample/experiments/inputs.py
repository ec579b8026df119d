"""Arguments of callers as an experiment keeps them: times, ids, actions and their features."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ensample.checks import check_label, number, repeated
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.decision import NamedDecision
from ensample.experiments.features.encoders import named
from ensample.experiments.reward import SECOND
from ensample.frames import is_column
from ensample.plain_data import PlainDict, plain_context

Moment = float | datetime
"""Seconds since 1970, or a datetime; one without a time zone is UTC."""

Clock = Callable[[], Moment]

LAST = 2.0**53 / SECOND  # seconds whose microseconds a double can count: the year 2255


def system_clock() -> float:
    return time.time()


def microseconds_of(argument: str, value: object) -> int:
    """Return a time as whole microseconds since 1970.

    >>> microseconds_of("time", datetime(1970, 1, 2)), microseconds_of("time", 1.5)
    (86400000000, 1500000)
    """
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return round((aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * SECOND)
    try:
        return round(number(argument, value, -LAST, LAST) * SECOND)
    except InvalidArgument as error:
        expected = "seconds since 1970 (before the year 2255), or a datetime"
        raise type(error)(argument, value, expected) from None


def random_id() -> str:
    """Return an id of the time and 64 random bits: ids near in time are near in an index."""
    return f"{time.time_ns() // 1_000:014x}{secrets.token_hex(8)}"


def as_function(argument: str, value: Any, answer: str) -> Any:
    if not callable(value):
        raise WrongType(argument, value, f"a function without arguments that answers with {answer}")
    return value


def as_id(value: object) -> str:
    if isinstance(value, NamedDecision):
        return value.id
    return as_text("id", value)


def as_text(argument: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 1_000:
        raise WrongType(argument, value, "a text of 1 to 1,000 characters")
    check_label(argument, value)
    return str(value)


Actions = dict[str, PlainDict | None]
"""Names, and the features of those that have any, in the order in which they came."""

MOST_ACTIONS = 10_000
EXPECTED = "names of actions, or a dict of names and features"


def as_actions(argument: str, value: Any) -> Actions:
    """Return actions of a list of names, or of a dict of names and features.

    >>> as_actions("actions", {"small": {"price": 3}, "large": [5.0, 1.0], "none": None})
    {'small': {'price': 3}, 'large': {'0': 5.0, '1': 1.0}, 'none': None}
    """
    if isinstance(value, Mapping):
        found: Actions = {}
        for name, item in value.items():
            found[checked_name(argument, name)] = own_features(f"{argument}[{name!r}]", item)
    elif isinstance(value, Sequence | np.ndarray | set | frozenset) or is_column(value):
        if isinstance(value, str | bytes):
            raise WrongType(argument, value, EXPECTED)
        given = sorted(value) if isinstance(value, set | frozenset) else value
        names = [checked_name(argument, name) for name in given]
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
