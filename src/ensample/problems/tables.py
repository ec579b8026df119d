"""Tables of the user's own: frames of pandas or polars, or files."""

import os
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, WrongType
from ensample.extras import package
from ensample.frames import columns_of, is_frame
from ensample.types import FloatArray

MAX_WORDS = 32  # of a column that get an indicator, the most frequent first
EXPECTED = "a frame of pandas or polars, or a file .csv, .parquet or .jsonl"

Table = dict[str, list[Any]]
"""Columns by name; None is a missing value."""


def is_table(value: object) -> bool:
    """Return True for a frame or the path of a file."""
    return is_frame(value) or isinstance(value, str | os.PathLike)


def read_table(argument: str, data: Any) -> Table:
    """Return the columns of a frame or a file."""
    frame = data if is_frame(data) else read_frame(argument, data)
    return {name: [without_nan(item) for item in column] for name, column in columns_of(frame)}


def read_frame(argument: str, path: Any) -> Any:
    if not isinstance(path, str | os.PathLike):
        raise WrongType(argument, path, EXPECTED)
    file, polars = os.fspath(path), package("polars", "a problem of data")
    readers = {
        ".csv": polars.read_csv,
        ".parquet": polars.read_parquet,
        ".jsonl": polars.read_ndjson,
    }
    reader = readers.get(os.path.splitext(file)[1].lower())
    if reader is None or not os.path.isfile(path):
        raise InvalidArgument(argument, file, f"{EXPECTED} that is there")
    try:
        return reader(path)
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0]
        raise InvalidArgument(argument, file, f"{EXPECTED} that can be read ({cause})") from error


def without_nan(value: Any) -> Any:
    """Return None for NaN and for pandas' missing values."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else value
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def named_column(argument: str, table: Table, name: str) -> list[Any]:
    if name not in table:
        raise InvalidArgument(argument, name, f"one of the columns {', '.join(table)}")
    return table[name]


def to_numbers(argument: str, table: Table) -> FloatArray:
    """Return the columns as numbers: [n, p].

    Numbers and booleans stay as they are. Each word has an indicator, and so do missing values.

    >>> to_numbers("data", {"age": [31, None], "device": ["phone", "desk"]})
    array([[31.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]])
    """
    columns: list[FloatArray] = []
    for name, values in table.items():
        known = [value for value in values if value is not None]
        if all(isinstance(value, str) for value in known):
            counts = {word: known.count(word) for word in sorted(set(known))}
            words = sorted(counts, key=lambda word: -counts[word])[:MAX_WORDS]
            columns += [indicator(values, word) for word in words]
        elif all(isinstance(value, bool | np.bool_ | int | float | np.number) for value in known):
            columns.append(np.array([0.0 if value is None else float(value) for value in values]))
        else:
            expected = "a column of numbers, booleans or words"
            raise WrongType(f"{argument}.{name}", next(iter(known)), expected)
        if len(known) < len(values):
            columns.append(indicator(values, None))
    if not columns:
        raise InvalidArgument(argument, list(table), "at least one column besides")
    return np.column_stack(columns)


def indicator(values: list[Any], word: Any) -> FloatArray:
    return np.array([float(value == word) for value in values])
