"""Contexts and features of actions as plain data: what JSON can say, and the same after a journey through it.

A context is a dict of numbers, strings, booleans, None, lists of strings or of numbers, and dicts of these; or an array of
numbers. NaN is what a missing value is in frames: it becomes None.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensample.checks import LARGEST, check_encodable
from ensample.errors import InvalidArgument, WrongType

Plain = Any
"""None, a boolean, a number, a string, a list of numbers or strings, or a dict of these."""
PlainDict = dict[str, Plain]

DEEPEST, MOST = 8, 1_000  # levels of dicts, entries of one
EXPECTED = (
    "a dict of numbers, strings, booleans, lists of strings and dicts, or an array of numbers"
)


def plain_context(argument: str, value: Any) -> "PlainDict | list[float | None]":
    """A copy that nobody else can change.

    >>> plain_context("context", {"age": np.int64(31), "tags": ("tennis",), "income": float("nan")})
    {'age': 31, 'tags': ['tennis'], 'income': None}
    """
    if type(value) is dict:
        return plain_dict(argument, value, 0)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return plain_dict(argument, dict(value), 0)
    if (
        hasattr(value, "to_dict") and len(getattr(value, "shape", ())) == 1
    ):  # a row of a frame of pandas
        return plain_dict(argument, value.to_dict(), 0)
    if isinstance(value, np.ndarray | list | tuple) or hasattr(value, "to_numpy"):
        return plain_row(argument, value)
    raise WrongType(argument, value, EXPECTED)


def plain_dict(path: str, values: dict[Any, Any], depth: int) -> PlainDict:
    if len(values) > MOST or depth >= DEEPEST:
        raise InvalidArgument(
            path, values, f"at most {MOST} entries, at most {DEEPEST} levels deep"
        )
    found: PlainDict = {}
    for key, value in values.items():
        if type(key) is not str or not key.isascii():
            key = plain_key(path, key)
        kind = type(value)
        if kind is bool or value is None or (kind is str and value.isascii()):
            found[key] = value
        elif kind is float or kind is int:
            found[key] = (
                value if -LARGEST <= value <= LARGEST else plain_number(f"{path}.{key}", value)
            )
        else:
            found[key] = plain_value(f"{path}.{key}", value, depth + 1)
    return found


def plain_key(path: str, key: object) -> str:
    if isinstance(key, str | int | np.integer) and not isinstance(key, bool):
        return plain_text(path, str(key))  # columns of a frame may be numbered
    raise WrongType(path, key, "names that are strings")


def plain_text(path: str, value: str) -> str:
    """One that every file can have: half of a surrogate pair is none."""
    check_encodable(path, value)
    return value


def plain_value(path: str, value: Any, depth: int) -> Plain:
    """Anything that is not one of the plain types already."""
    if isinstance(value, str):
        return plain_text(path, str(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain_value(path, value.item(), depth)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return plain_number(path, int(value))
    if isinstance(value, float | np.floating):
        return plain_number(path, float(value))
    if isinstance(value, Mapping):
        return plain_dict(path, dict(value), depth)
    if isinstance(value, list | tuple | set | frozenset | np.ndarray) or (
        hasattr(value, "to_numpy") and hasattr(value, "__len__")  # a moment of pandas has the first
    ):
        return plain_list(path, value)
    raise WrongType(path, value, "a number, a string, a boolean, None, a list of strings or a dict")


def plain_number(path: str, value: Any) -> Any:
    """None for NaN: a value that is missing."""
    if value != value:
        return None
    if not -LARGEST <= value <= LARGEST:
        raise InvalidArgument(path, value, f"a number of at most {LARGEST:g}")
    return value


def plain_list(path: str, value: Any) -> list[Any]:
    """Strings, or numbers and None; those of a set are put in order."""
    items = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
    if len(items) > MOST:
        raise InvalidArgument(path, value, f"at most {MOST} entries")
    if all(isinstance(item, str) for item in items):
        return [plain_text(f"{path}[{place}]", str(item)) for place, item in enumerate(items)]
    return [
        None if item is None else plain_entry(f"{path}[{place}]", item)
        for place, item in enumerate(items)
    ]


def plain_entry(path: str, item: Any) -> float | None:
    if not isinstance(item, bool | np.bool_ | int | float | np.integer | np.floating):
        raise WrongType(path, item, "strings only, or numbers only")
    value = plain_number(path, item)
    return None if value is None else float(value)


def plain_row(argument: str, value: Any) -> list[float | None]:
    """An array of numbers: a context without names."""
    row = np.ravel(value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value))
    if not row.size or row.dtype.kind not in "biufO" or row.size > MOST:
        raise InvalidArgument(argument, value, f"{EXPECTED}, of at most {MOST}")
    return [
        None if item is None else plain_entry(f"{argument}[{i}]", item)
        for i, item in enumerate(row.tolist())
    ]
