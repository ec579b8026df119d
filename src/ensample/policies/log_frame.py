"""A log in a frame of pandas or polars."""

import math
from typing import Any

import numpy as np

from ensample.arms import Arms
from ensample.checks import each, sequence, vector, whole
from ensample.errors import InvalidArgument
from ensample.frames import column_array, columns_of
from ensample.policies.decision import UNNUMBERED, Log

OTHERS = {"round", "features", "reward", "arm", "propensity"}


def log_of(frame: Any, arms: Arms) -> Log:
    """Its columns by name, `round` and `reward` at least. See `Log`."""
    columns = dict(columns_of(frame))
    for name in ("round", "reward"):
        if name not in columns:
            raise InvalidArgument(
                "log", frame, f"a frame with the columns round and reward, and {name} is missing"
            )
    count = frame.shape[0]
    chosen = with_missing(columns.get("arm", np.full(count, UNNUMBERED)), UNNUMBERED)
    known = with_missing(columns.get("propensity", np.full(count, math.nan)), math.nan)
    numbers: Any = [
        int(arm) if isinstance(arm, float) and arm.is_integer() else arm for arm in chosen
    ]
    return Log(
        columns["round"], features_of(frame, columns, arms), columns["reward"], numbers, known
    )


def features_of(frame: Any, columns: dict[str, Any], arms: Arms) -> Any:
    """Of every row: [n, d]."""
    if "features" in columns:
        return np.array(each("log.features", columns["features"], vector, arms.dim))
    named = [(name, column) for name, column in columns.items() if name not in OTHERS]
    if named:
        expected = f"{arms.dim} columns of features, besides {', '.join(sorted(OTHERS))}"
        if len(named) != arms.dim:
            raise InvalidArgument("log", frame, f"{expected}, not {len(named)}")
        return np.column_stack(
            [column_array("log.features", column, expected, name) for name, column in named]
        )
    if arms.rows is None or "arm" not in columns:
        raise InvalidArgument(
            "log",
            frame,
            "features: a column of lists, columns of numbers, or the numbers of standing arms",
        )
    last = len(arms.rows) - 1
    numbers = each("log.arm", sequence("log.arm", columns["arm"], "whole numbers"), whole, 0, last)
    return arms.rows[numbers]


def with_missing(values: Any, instead: float) -> Any:
    """What a log says with a number is missing in many a frame: an arm that has none, a propensity that was not asked for.

    pandas makes such a column one of doubles.
    """
    return [instead if is_missing(value) else value for value in values]


def is_missing(value: Any) -> bool:
    """None, NaN or pandas' NA, which is not even a truth when compared."""
    unequal = value is None or value != value
    return not isinstance(unequal, bool | np.bool_) or bool(unequal)
