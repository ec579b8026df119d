"""Values of axes as a page shows them."""

import ast
from contextlib import suppress
from typing import Any

from ensample.numerals import numeral


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
    if isinstance(given, list):
        return f"[{listed([value(item) for item in given], 3)}]"
    if isinstance(given, int | float):
        return numeral(given)
    return str(given).removesuffix("()")


def assigned(axes: dict[str, Any]) -> str:
    """
    >>> assigned({"dim": 5, "horizon": 1000})
    'dim = 5, horizon = 1,000'
    """
    return ", ".join(f"{axis} = {value(given)}" for axis, given in axes.items())


def listed(items: list[str], most: int = 8, between: str = ", ") -> str:
    """
    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = len(items) - most
    return between.join(items) if more <= 0 else f"{between.join(items[:most])} and {more:,} more"


def named(items: list[str], most: int = 8) -> str:
    """As `listed`, of names that may have commas in them.

    >>> named(["ES, size = 3", "ES, size = 10"])
    'ES, size = 3; ES, size = 10'
    """
    return listed(items, most, "; ")
