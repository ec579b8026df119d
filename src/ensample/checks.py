"""Checks of arguments: each returns the value in the type used inside, or raises a named error."""

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensample.errors import InvalidArgument, WrongType
from ensample.frames import NUMERIC, column_array, frame_array, is_column, is_frame
from ensample.types import FloatArray

Result = TypeVar("Result")

LARGEST = 1e100
"""The largest magnitude accepted in features and perturbations: squares and sums stay finite."""

LARGEST_REWARD = 1e150
"""The largest magnitude of a reward: a million squares stay finite."""

ORDINARY = 1e20
"""The largest magnitude of features that cannot overflow a model: 2^53 squares are 1e56."""

LEAST_ORDINARY = 1e-50
"""The least magnitude, but for 0, of features whose learned scales cannot overflow."""

ORDINARY_REWARD = 1e40
"""The largest magnitude of rewards that cannot overflow a model: 2^53 squares are 1e96."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, other ends of lines, and those that turn the direction of text."""

# Numbers whose squares are summed in one call: with more OpenBLAS uses threads, which may wait.
AT_ONCE = 10_000


def check_encodable(argument: str, value: str) -> None:
    """Raise if a text has half of a surrogate pair, which no file can have."""
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InvalidArgument(argument, value, "a text that can be written as UTF-8")


def check_label(argument: str, value: str) -> None:
    """Raise if a name or an id has a control character, which pages and logs cannot show."""
    if not value.isprintable() and CONTROL.search(value):
        raise InvalidArgument(
            argument, value, "a text without control characters such as line ends and tabs"
        )
    check_encodable(argument, value)


def whole(argument: str, value: object, least: int, most: int | None = None) -> int:
    """Return a whole number >= `least` (and <= `most`): Python or NumPy integers, no booleans."""
    expected = (
        f"a whole number >= {least}" if most is None else f"a whole number from {least} to {most}"
    )
    if isinstance(value, bool | np.bool_):
        raise WrongType(argument, value, expected)
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WrongType(argument, value, expected) from None
    if result < least or (most is not None and result > most):
        raise InvalidArgument(argument, value, expected)
    return result


def number(
    argument: str,
    value: object,
    least: float = -LARGEST,
    most: float = LARGEST,
    *,
    above: float | None = None,
) -> float:
    """A finite real number in [least, most], strictly above `above` where that is given."""
    if isinstance(value, float) and least <= value <= most and above is None:
        return float(value)  # the usual case, at once
    low = f">= {least:g}" if above is None else f"> {above:g}"
    expected = f"a finite number {low} and <= {most:g}"
    if isinstance(value, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        raise WrongType(argument, value, expected)
    try:
        result = float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise InvalidArgument(argument, value, expected) from None
    except (TypeError, ValueError):
        raise WrongType(argument, value, expected) from None
    if (
        not math.isfinite(result)
        or not least <= result <= most
        or (above is not None and result <= above)
    ):
        raise InvalidArgument(argument, value, expected)
    return result


def as_reward(argument: str, value: object) -> float:
    """A finite real number; True is 1 and False is 0."""
    if isinstance(value, float) and -LARGEST <= value <= LARGEST:
        return float(value)  # the usual case, at once
    if isinstance(value, bool | np.bool_):
        return float(value)
    return number(argument, value, -LARGEST_REWARD, LARGEST_REWARD)


def as_rewards(
    argument: str, value: object, check: Callable[[str, object], float] = as_reward
) -> list[float]:
    """Return the items of a list, tuple, array or Series of rewards, each checked."""
    items = sequence(argument, value, "a sequence of numbers")
    if isinstance(value, np.ndarray) or is_column(value):
        plain(argument, value, "a sequence of numbers")  # dates would be whole numbers in a list
    return each(argument, items, check)


def each(
    argument: str, items: Iterable[object], check: Callable[..., Result], *limits: object
) -> list[Result]:
    """Return `check(argument, item, *limits)` of every item; an error names its place.

    >>> each("rounds", [3, -1], whole, 0)
    Traceback (most recent call last):
    ...
    ensample.errors.InvalidArgument: rounds[1] = -1: expected a whole number >= 0
    """
    found: list[Result] = []
    for place, item in enumerate(items):
        try:
            found.append(check(argument, item, *limits))
        except InvalidArgument as error:
            raise type(error)(f"{argument}[{place}]", error.value, error.expected) from None
    return found


@contextmanager
def blaming(text: str) -> Iterator[None]:
    """Prefix the argument of errors inside with what they are about, such as a policy."""
    try:
        yield
    except InvalidArgument as error:
        raise type(error)(f"{text}: {error.argument}", error.value, error.expected) from error


def file_path(argument: str, value: object) -> Path:
    """Return a path to a file, given as text or path object."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise WrongType(argument, value, "the path of a file")
    return Path(value)


def boolean(argument: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise WrongType(argument, value, "True or False")
    return bool(value)


def repeated(items: Iterable[Result]) -> Result | None:
    """Return the first item that was there before.

    >>> repeated(["a", "b", "b", "a"]), repeated("ab")
    ('b', None)
    """
    seen: set[Result] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def sequence(argument: str, value: object, expected: str) -> list[Any]:
    """Return the items of a list, tuple, array or Series."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return value.tolist() if value.ndim == 1 else list(value)
    if is_column(value):
        return [*value]  # type: ignore[misc]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    raise WrongType(argument, value, expected)


def instance(argument: str, value: Any, kind: type | UnionType, expected: str) -> Any:
    """Return an instance of the given kind. A class in its place, a common slip, is refused."""
    if not isinstance(value, kind):
        raise WrongType(argument, value, expected)
    return value


def array(argument: str, value: object, expected: str, *, shared: bool = False) -> FloatArray:
    """Return a contiguous array of finite doubles: a copy or, if `shared`, a read-only original."""
    given = plain(argument, value, expected)
    result = (
        given.view(np.ndarray)
        if shared and is_frozen(given)
        else np.array(given, dtype=np.float64, order="C")
    )
    if not are_within(result, LARGEST):
        raise InvalidArgument(
            argument, value, f"{expected}, every entry finite and at most {LARGEST:g}"
        )
    return result


def are_within(values: FloatArray, most: float) -> bool:
    """Return True if all values are finite and none exceeds `most` >= 1 in size.

    The sum of their squares tells in one pass where it is at most `most`.
    """
    if values.size <= AT_ONCE and np.vdot(values, values) <= most:
        return True
    return bool(values.min() >= -most and values.max() <= most)  # false for NaN too


def has_tiny(values: FloatArray) -> bool:
    """Return True if a value other than 0 is below `LEAST_ORDINARY` in size."""
    return bool(np.abs(values).min(where=values != 0.0, initial=1.0) < LEAST_ORDINARY)


def is_frozen(values: NDArray[Any]) -> bool:
    """Return True for contiguous, read-only doubles, no view of a writable array."""
    flags = values.flags
    alone = flags.owndata or (isinstance(values, np.memmap) and values.mode == "r")
    return values.dtype == np.float64 and flags.c_contiguous and not flags.writeable and alone


def plain(argument: str, value: object, expected: str) -> NDArray[Any]:
    """Return an array, list, Series or frame as an array of booleans or real numbers."""
    if is_column(value):
        return column_array(argument, value, expected)
    if is_frame(value):
        return frame_array(argument, value, expected)
    if hasattr(value, "collect_schema"):
        raise WrongType(argument, value, f"{expected}; a lazy frame has none before .collect()")
    try:
        given = np.asanyarray(value)
    except ValueError:
        raise InvalidArgument(argument, value, expected) from None
    # The type is asked first, since importing numpy.ma takes 20 ms.
    if type(given) is not np.ndarray and isinstance(given, np.ma.MaskedArray):
        raise WrongType(argument, value, f"{expected}, not a masked array")
    if given.dtype.kind not in NUMERIC:
        raise WrongType(argument, value, f"{expected}, not dtype {given.dtype}")
    return given


def vector(argument: str, value: object, dim: int | None = None) -> FloatArray:
    """Return a vector of finite doubles, of length `dim` if given, also of a frame of one row."""
    expected = "a vector of numbers" if dim is None else f"a vector of {dim} numbers"
    result = array(argument, value, expected)
    if is_frame(value) and len(result) == 1:
        result = result[0]
    if result.ndim != 1 or result.size == 0 or (dim is not None and result.size != dim):
        raise InvalidArgument(argument, value, f"{expected}, not shape {result.shape}")
    return result


def matrix(
    argument: str, value: object, dim: int | None = None, *, shared: bool = False
) -> FloatArray:
    """Return a matrix of finite doubles, with `dim` columns if given; `shared` as in `array`."""
    expected = "a K x d array of numbers" if dim is None else f"a K x {dim} array of numbers"
    result = array(argument, value, expected, shared=shared)
    if result.ndim != 2 or 0 in result.shape or (dim is not None and result.shape[1] != dim):
        raise InvalidArgument(argument, value, f"{expected} with K >= 1, not shape {result.shape}")
    return result
