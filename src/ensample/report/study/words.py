"""Numbers and values as a page shows them."""

import ast
import math
from contextlib import suppress
from typing import Any

__all__ = ["MINUS", "NOTHING", "assigned", "interval", "listed", "micro", "number", "percent", "signed", "slope", "value"]

NOTHING, MINUS = "\u2013", "\u2212"  # a dash, and a minus as wide as a plus


def number(x: float | None) -> str:
    """Three digits, or more where the number is large.

    >>> number(1234.5678), number(38.0), number(0.25), number(1e-7)
    ('1,235', '38.0', '0.250', '1.00e-07')
    >>> number(-1.0) == MINUS + "1.00", number(None) == NOTHING
    (True, True)
    """
    if x is None or math.isnan(x):
        return NOTHING
    size = abs(x)
    text = f"{size:.3g}" if size >= 1e9 or size == 0.0 else f"{size:,.0f}" if size >= 1e2 else f"{size:#.3g}"
    return f"{MINUS}{text}" if x < 0.0 else text


def slope(x: float) -> str:
    """
    >>> slope(0.274)
    '0.27'
    """
    return f"{x:.2f}".replace("-", MINUS)


def signed(x: float | None) -> str:
    return f"+{number(x)}" if x is not None and x > 0.0 else number(x)


def interval(low: float | None, high: float | None) -> str:
    """
    >>> interval(1.25, 3.5)
    '1.25 to 3.50'
    """
    return NOTHING if low is None or high is None or math.isnan(low) else f"{number(low)} to {number(high)}"


def micro(seconds: float) -> str:
    """Seconds in microseconds, three digits."""
    return number(1e6 * seconds)


def percent(share: float) -> str:
    """
    >>> percent(0.1234), percent(0.5), percent(0.0003)
    ('12.3%', '50.0%', '0.03%')
    """
    return f"{100.0 * share:.1f}%" if share >= 0.01 else f"{100.0 * share:.2g}%"


def value(given: Any) -> str:
    """A value of an axis: a rule without its empty brackets, a number without its noise, a law as one would call it.

    >>> value("RoundRobin()"), value(0.30000000000000004), value(10000)
    ('RoundRobin', '0.3', '10,000')
    >>> value("{'kind': 'GaussianNoise', 'scale': 0.5}")
    'GaussianNoise(scale=0.5)'
    """
    if isinstance(given, str) and given.startswith("{"):
        with suppress(ValueError, SyntaxError):
            given = ast.literal_eval(given)
    if isinstance(given, dict):
        return f"{given.get('kind', '')}({', '.join(f'{key}={value(item)}' for key, item in given.items() if key != 'kind')})"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, int | float):
        return f"{given:,}" if isinstance(given, int) else f"{given:.3g}"
    return str(given).removesuffix("()")


def assigned(axes: dict[str, Any]) -> str:
    """
    >>> assigned({"dim": 5, "horizon": 1000})
    'dim = 5, horizon = 1,000'
    """
    return ", ".join(f"{axis} = {value(given)}" for axis, given in axes.items())


def listed(items: list[str], most: int = 8) -> str:
    """
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = len(items) - most
    return ", ".join(items) if more <= 0 else f"{', '.join(items[:most])} and {more:,} more"
