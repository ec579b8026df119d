"""A table with lists in it stands for all combinations of their items."""

import itertools
from typing import Any

__all__ = ["axes_of", "expand"]

Table = dict[str, Any]


def axes_of(table: Table) -> list[str]:
    """The keys whose value is a list, in the order of the file."""
    return [key for key, value in table.items() if isinstance(value, list)]


def expand(table: Table) -> list[Table]:
    """All combinations; the first axis changes slowest.

    >>> expand({"dim": [2, 5], "arms": 10})
    [{'dim': 2, 'arms': 10}, {'dim': 5, 'arms': 10}]
    """
    choices = [value if isinstance(value, list) else [value] for value in table.values()]
    return [dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*choices)]
