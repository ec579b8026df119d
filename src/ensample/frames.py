"""Series and frames of pandas and polars as arrays, without importing either.

A column of numbers or booleans is an array of doubles, one of lists of them a matrix. One of
anything else, or with values missing, is an error that says so.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ensample.errors import InvalidArgument, WrongType
from ensample.extras import pandas_package

if TYPE_CHECKING:
    import pandas
    import polars


NUMERIC = "biuf"
"""The kinds of dtype that are numbers to us: booleans, whole numbers, floating-point numbers."""

REAL = bool, np.bool_, int, float, np.integer, np.floating


def is_column(value: object) -> bool:
    """Return True for a Series, or what looks like one."""
    known = hasattr(value, "to_numpy") and hasattr(value, "dtype")
    return known and len(getattr(value, "shape", ())) == 1


def is_frame(value: object) -> bool:
    """Return True for a DataFrame, or what looks like one."""
    known = hasattr(value, "to_numpy") and hasattr(value, "columns")
    return known and len(getattr(value, "shape", ())) == 2


def columns_of(frame: Any) -> list[tuple[str, Any]]:
    """Return names and columns in order. Names may repeat."""
    polars = hasattr(frame, "get_columns")
    columns = frame.get_columns() if polars else [column for _, column in frame.items()]
    return list(zip(map(str, frame.columns), columns, strict=True))


def column_array(argument: str, column: Any, expected: str, name: str = "") -> NDArray[Any]:
    """Return the values of a column; `name` is given for one of several."""
    of = f" in column {name!r}" if name else ""
    if missing := missing_values(column):
        where = f"{missing} are{of}, the first in row {first_missing(column)}"
        raise InvalidArgument(argument, column, f"{expected}, none of them missing: {where}")
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "O":
        values = numbers_in(values)
    if values.dtype.kind not in NUMERIC:
        raise WrongType(argument, column, f"{expected}, not dtype {column.dtype}{of}")
    return values


def numbers_in(objects: NDArray[Any]) -> NDArray[Any]:
    """Return a row of several dtypes, or lists of one length, as numbers; others as they are."""
    if all(isinstance(value, REAL) for value in objects.flat):
        return np.array([float(value) for value in objects.flat]).reshape(objects.shape)
    if all(isinstance(value, list | tuple | np.ndarray) for value in objects.flat):
        try:
            return np.array([np.asarray(row) for row in objects])
        except ValueError:  # they are of several lengths
            return objects
    return objects


def missing_values(column: Any) -> int:
    """Count missing values. NaN is a number to polars, but missing to pandas."""
    if hasattr(column, "null_count"):
        return int(column.null_count())
    return int(column.isna().sum()) if hasattr(column, "isna") else 0


def first_missing(column: Any) -> int:
    """Return the row of the first missing value, from 0."""
    missing = column.is_null() if hasattr(column, "null_count") else column.isna()
    return int(np.argmax(missing.to_numpy()))


def frame_array(argument: str, frame: Any, expected: str) -> NDArray[Any]:
    """Return the columns of a frame side by side, whatever their dtypes: [rows, columns]."""
    columns = [column_array(argument, column, expected, name) for name, column in columns_of(frame)]
    return np.column_stack(columns) if columns else np.zeros(frame.shape)


WHOLE = {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"}


def as_pandas(frame: "polars.DataFrame") -> "pandas.DataFrame":
    """Return a frame of polars as one of pandas. (`frame.to_pandas()` would need pyarrow.)

    Whole numbers and booleans stay what they are where some are missing: as pandas' Int64 and
    boolean. Times keep their zones.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"arm": [0, None], "seen": [True, False]})
    >>> as_pandas(frame).dtypes.astype(str).to_dict()
    {'arm': 'Int64', 'seen': 'bool'}
    """
    package = pandas_package()
    columns = {column.name: pandas_column(package, column) for column in frame.get_columns()}
    made: pandas.DataFrame = package.DataFrame(columns, columns=frame.columns)
    return made


def pandas_column(pandas: Any, column: "polars.Series") -> Any:
    kind, full = str(column.dtype), column.null_count() == 0
    if kind in WHOLE | {"Boolean"}:
        return (
            column.to_numpy()
            if full
            else pandas.array(column.to_list(), dtype=kind.replace("Boolean", "boolean"))
        )
    if kind in ("Float32", "Float64"):
        return column.to_numpy()
    if kind.startswith("Datetime"):
        zone = getattr(column.dtype, "time_zone", None)
        if zone is None:
            return pandas.Series(column.to_numpy())
        moments = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pandas.Series(moments.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(zone)
    return pandas.Series(column.to_list(), dtype=None if kind == "String" else object)
