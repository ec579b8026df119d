"""Figures from the literature beside ours: the [[published]] tables of a study."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.lab.cell import Cell
from ensample.problems import example_of
from ensample.registry import known
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.lab.study import Study

__all__ = ["MEASURES", "Published", "measured", "published_in"]

MEASURES = {
    "regret": "final regret",
    "wrong": "share of the rounds not on the best arm",
    "linear": "share of the runs with regret of T/4 or more",
}
KEYS = ("policy", "problem", "measure", "value", "standard_error", "source")


class Published(NamedTuple):
    """A figure that somebody has published for a cell."""

    cell: Cell
    measure: str
    value: float
    standard_error: float | None
    source: str


def published_in(study: "Study") -> list[Published]:
    """The tables, each with the one cell that it is about."""
    if not isinstance(study.published, list):
        raise InvalidArgument("published", study.published, "tables [[published]]")
    return [one(study, table) for table in study.published]


def one(study: "Study", table: dict[str, Any]) -> Published:
    if not isinstance(table, dict):
        raise InvalidArgument("published", table, "tables [[published]]")
    for key in ("policy", "problem", "value"):
        if key not in table:
            raise InvalidArgument(f"published.{key}", None, "to be given, with policy, problem and value")
    axes = {key: value for key, value in table.items() if key not in KEYS}
    fitting = [
        cell
        for cell in study.cells
        if (cell.policy, cell.problem) == (table["policy"], table["problem"])
        and all(cell.axes.get(axis) == value for axis, value in axes.items())
    ]
    if len(fitting) != 1:
        raise InvalidArgument("published", table, f"to fit one cell, and it fits {len(fitting)}")
    measure = table.get("measure", "regret")
    if not isinstance(measure, str) or measure not in MEASURES:
        raise InvalidArgument("published.measure", measure, known(str(measure), list(MEASURES)))
    if measure == "wrong" and not isinstance(example_of(fitting[0].family).arms, FiniteArms):
        raise InvalidArgument("published.measure", measure, "another one: arms here are not numbered")
    error = table.get("standard_error")
    error = None if error is None else number("published.standard_error", error, 0.0)
    return Published(fitting[0], measure, number("published.value", table["value"]), error, str(table.get("source", "")))


def measured(measure: str, horizon: int, regret: FloatArray, pulls: IntArray | None) -> tuple[float, float]:
    """(mean, standard error) of ours, from the final regret [runs] and the pulls [runs, K], the best arm first."""
    if measure == "wrong":
        assert pulls is not None
        values = 1.0 - pulls[:, 0] / horizon
    else:
        values = regret if measure == "regret" else (regret >= horizon / 4.0).astype(np.float64)
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
