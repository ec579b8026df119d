"""Times: whole microseconds since 1970 inside, seconds or datetimes outside."""

import time as system
from collections.abc import Callable
from datetime import UTC, datetime

from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.experiments.reward import SECOND

Moment = float | datetime
"""Seconds since 1970, or a datetime; one without a time zone is UTC."""

Clock = Callable[[], Moment]

LAST = 2.0**53 / SECOND  # seconds whose microseconds a double can count: the year 2255


def system_clock() -> float:
    return system.time()


def microseconds_of(argument: str, value: object) -> int:
    """Since 1970.

    >>> microseconds_of("time", datetime(1970, 1, 2)), microseconds_of("time", 1.5)
    (86400000000, 1500000)
    """
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return round((aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * SECOND)
    try:
        return round(number(argument, value, -LAST, LAST) * SECOND)
    except InvalidArgument as error:
        raise type(error)(
            argument, value, "seconds since 1970 (before the year 2255), or a datetime"
        ) from None
