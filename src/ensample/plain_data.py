"""Plain data, which JSON can express: contexts, bodies of calls, tables of studies, file headers.

It is None, booleans, finite numbers, texts, lists, and dicts with texts as keys. NaN is what a
missing value is in frames: it becomes None.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ensample.checks import LARGEST, check_encodable
from ensample.errors import InvalidArgument, SnapshotError, WrongType

Plain = Any
PlainDict = dict[str, Plain]

DEEPEST = (
    20  # levels of lists and dicts: deeper is an accident, and Python would follow only so far
)
MOST = 1_000  # entries of a dict or a list of a context
JSON_TYPES = "numbers, texts, booleans, None, lists and dicts of these"
CONTEXT_TYPES = (
    "a dict of numbers, strings, booleans, lists of strings and dicts, or an array of numbers"
)


def plain(argument: str, value: Any, depth: int = 0) -> Plain:
    """Return a copy in plain types of what NumPy, frames and Python have.

    >>> plain("context", {"age": np.int64(31), "tags": {"tea"}, "income": float("nan")})
    {'age': 31, 'tags': ['tea'], 'income': None}
    >>> plain("policy", {"recipe": b"Greedy"})
    Traceback (most recent call last):
    ...
    ensample.errors.WrongType: policy.recipe = b'Greedy' (bytes): expected numbers, texts, booleans,
    None, lists and dicts of these
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return plain_text(argument, value)
    if isinstance(value, int | float | np.integer | np.floating):
        return plain_number(argument, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(argument, value.item(), depth)
    if depth > DEEPEST:
        raise InvalidArgument(argument[:100], value, f"at most {DEEPEST} levels of lists and dicts")
    if isinstance(value, Mapping) or is_row(value):
        items = (value if isinstance(value, Mapping) else value.to_dict()).items()
        return {
            plain_key(argument, name): plain(f"{argument}.{name}", item, depth + 1)
            for name, item in items
        }
    return [
        plain(f"{argument}[{place}]", item, depth + 1)
        for place, item in enumerate(entries(argument, value, JSON_TYPES))
    ]


def is_row(value: Any) -> bool:
    """Return True for a row of a frame of pandas."""
    return hasattr(value, "to_dict") and len(getattr(value, "shape", ())) == 1


def entries(argument: str, value: Any, expected: str) -> list[Any]:
    """Return the items of a list, an array or a column of a frame; those of a set in order."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, list | tuple | np.ndarray):
        return list(value)
    if (hasattr(value, "to_numpy") or hasattr(value, "to_list")) and hasattr(value, "__len__"):
        return list(value)
    raise WrongType(argument, value, expected)


def plain_key(path: str, key: object) -> str:
    """Return the name of an entry; columns of a frame may be numbered."""
    if isinstance(key, str | int | np.integer) and not isinstance(key, bool):
        return plain_text(path, str(key))
    raise WrongType(path, key, "names that are strings")


def plain_text(path: str, value: str) -> str:
    """Return a text that every file can have: half of a surrogate pair is none."""
    check_encodable(path, value)
    return str(value)


def plain_number(path: str, value: Any) -> Any:
    """Return a number of Python; None for NaN, a value that is missing."""
    number = int(value) if isinstance(value, int | np.integer) else float(value)
    if number != number:
        return None
    if not -LARGEST <= number <= LARGEST:
        raise InvalidArgument(path, value, f"a number of at most {LARGEST:g}")
    return number


def plain_context(argument: str, value: Any) -> "PlainDict | list[float | None]":
    """Return a context that nobody else can change: a dict, or a row of numbers.

    Values are numbers, texts, booleans, None, lists of texts or of numbers, and dicts of these.

    >>> plain_context("context", {"age": np.int64(31), "tags": ("tennis",), "income": float("nan")})
    {'age': 31, 'tags': ['tennis'], 'income': None}
    """
    if type(value) is dict:
        return context_dict(argument, value, 1)
    if value is None:
        return {}
    if isinstance(value, Mapping) or is_row(value):
        fields = dict(value) if isinstance(value, Mapping) else value.to_dict()
        return context_dict(argument, fields, 1)
    if not (isinstance(value, np.ndarray | list | tuple) or hasattr(value, "to_numpy")):
        raise WrongType(argument, value, CONTEXT_TYPES)
    row = np.ravel(value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value))
    if not row.size or row.dtype.kind not in "biufO" or row.size > MOST:
        raise InvalidArgument(argument, value, f"{CONTEXT_TYPES}, of at most {MOST}")
    return context_numbers(argument, row.tolist())


def context_dict(path: str, values: dict[Any, Any], depth: int) -> PlainDict:
    """Return the entries of a context; those of the usual types are copied at once."""
    if len(values) > MOST or depth > DEEPEST:
        expected = f"at most {MOST} entries, at most {DEEPEST} levels deep"
        raise InvalidArgument(path[:100], values, expected)
    found: PlainDict = {}
    for key, value in values.items():
        if type(key) is not str or not key.isascii():
            key = plain_key(path, key)
        kind = type(value)
        if kind is float or kind is int:
            known = -LARGEST <= value <= LARGEST
        else:
            known = kind is bool or value is None or (kind is str and value.isascii())
        found[key] = value if known else context_value(f"{path}.{key}", value, depth + 1)
    return found


def context_value(path: str, value: Any, depth: int) -> Plain:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating):
        return plain(path, value)
    if isinstance(value, Mapping):
        return context_dict(path, dict(value), depth)
    items = entries(path, value, "a number, a string, a boolean, None, a list of strings or a dict")
    if len(items) > MOST:
        raise InvalidArgument(path, value, f"at most {MOST} entries")
    if all(isinstance(item, str) for item in items):
        return [plain_text(f"{path}[{place}]", item) for place, item in enumerate(items)]
    return context_numbers(path, items)


def context_numbers(path: str, items: list[Any]) -> list[float | None]:
    found: list[float | None] = []
    for place, item in enumerate(items):
        if item is not None and type(item) is not float:
            if not isinstance(item, bool | np.bool_ | int | float | np.integer | np.floating):
                raise WrongType(f"{path}[{place}]", item, "strings only, or numbers only")
            item = float(plain_number(f"{path}[{place}]", item))
        found.append(None if item is None else plain_number(f"{path}[{place}]", item))
    return found


def parse_json(part: str, content: str | bytes) -> Plain:
    """Return what JSON of unknown origin says: no name twice, no NaN or infinity, not too deep."""
    try:
        text = content if isinstance(content, str) else content.decode()
        found = json.loads(
            text, object_pairs_hook=distinct, parse_constant=finite, parse_float=finite
        )
        deep = levels(found) > DEEPEST
    except (ValueError, RecursionError) as error:
        expected = f"JSON ({type(error).__name__}: {error})"
        raise SnapshotError.about(part, content[:60], expected) from None
    if deep:
        raise SnapshotError.about(part, content[:60], f"JSON of at most {DEEPEST} levels")
    return found


def levels(value: Plain) -> int:
    items = value.values() if isinstance(value, dict) else value
    return 1 + max(map(levels, items), default=0) if isinstance(value, dict | list) else 0


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return dict(pairs)


def finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no number")
    return value


def without_nan(value: Any) -> Any:
    """Return numbers that are not finite as None: JSON has no word for them.

    >>> without_nan({"low": float("nan"), "all": (1.0, float("inf"))})
    {'low': None, 'all': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
