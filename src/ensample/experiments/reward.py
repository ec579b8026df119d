"""Rules of rewards: their range, how long a decision waits for them, and the default."""

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ensample.checks import LARGEST_REWARD, as_reward, number
from ensample.errors import InvalidArgument, WrongType

Outcome = Literal["applied", "duplicate", "late", "unknown", "not_shown"]
"""The outcome of a reward: it counts; the decision has its reward already; it came after the wait;
no such decision; it is for another action than the one shown, or one that was never activated."""

SECOND = 1_000_000  # times are whole microseconds
UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "min": 60 * SECOND,
    "minute": 60 * SECOND,
    "h": 3_600 * SECOND,
    "hour": 3_600 * SECOND,
    "d": 86_400 * SECOND,
    "day": 86_400 * SECOND,
    "week": 7 * 86_400 * SECOND,
}
LONGEST = 10**18  # microseconds, some 30,000 years


@dataclass(frozen=True)
class Reward:
    """Rewards lie in [low, high]; a decision waits for `wait`, then `default` is its reward (None:
    it has none).

    `rule="first"`: the first reward counts, at once. `rule="sum"`: those of the wait are added up,
    and learned when it is over. `wait` is a number of seconds, a timedelta or a text such as "30
    min"; None waits for ever.

    >>> import ensample as es
    >>> es.Reward(low=0, high=1, wait="30 min", default=0).wait
    1800.0
    """

    low: float = 0.0
    high: float = 1.0
    wait: "float | str | timedelta | None" = None
    default: float | None = None
    rule: Literal["first", "sum"] = "first"

    def __post_init__(self) -> None:
        low = number("low", self.low, -LARGEST_REWARD, LARGEST_REWARD)
        high = number("high", self.high, -LARGEST_REWARD, LARGEST_REWARD)
        if low >= high:
            raise InvalidArgument("high", high, f"a number above low = {low:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.wait is not None:
            object.__setattr__(self, "wait", microseconds("wait", self.wait) / SECOND)
        if self.default is not None:
            object.__setattr__(self, "default", self.value("default", self.default))
        if self.rule not in ("first", "sum"):
            raise InvalidArgument("rule", self.rule, '"first" or "sum"')
        if self.wait is None and (self.rule == "sum" or self.default is not None):
            what = 'rule = "sum"' if self.rule == "sum" else "a default"
            raise InvalidArgument("wait", None, f"a time such as '30 min', with {what}")

    @property
    def wait_microseconds(self) -> int | None:
        if self.wait is None:
            return None
        return round(float(self.wait) * SECOND)  # type: ignore[arg-type]

    def value(self, argument: str, value: object) -> float:
        """Check a reward, and return it as a double."""
        expected = f"a reward, a number from {self.low:g} to {self.high:g}"
        try:
            found = as_reward(argument, value)
        except InvalidArgument as error:
            raise type(error)(argument, value, expected) from None
        if not self.low <= found <= self.high:
            raise InvalidArgument(argument, value, expected)
        return found


def microseconds(argument: str, value: object) -> int:
    """Return a length of time, given as seconds, a timedelta, or words.

    >>> microseconds("wait", "1.5 h")
    5400000000
    """
    expected = "a time such as '30 min', a number of seconds or a timedelta"
    if isinstance(value, timedelta):
        found = value / timedelta(microseconds=1)
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", value)
        unit = (
            "" if match is None else match[2] if match[2] in UNITS else match[2].removesuffix("s")
        )
        if match is None or unit not in UNITS:
            raise InvalidArgument(argument, value, f"{expected}; units are {', '.join(UNITS)}")
        found = float(match[1]) * UNITS[unit]
    elif isinstance(value, bool):
        raise WrongType(argument, value, expected)
    else:
        found = number(argument, value, 0.0) * SECOND
    if not (math.isfinite(found) and 0 < found < LONGEST and round(found) > 0):
        expected += ", longer than nothing: at least a microsecond"
        raise InvalidArgument(argument, value, expected)
    return round(found)
