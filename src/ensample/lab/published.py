"""Figures from the literature beside ours: the [[published]] tables of a study."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.lab.cell import Cell
from ensample.lab.mistakes import Mistakes
from ensample.problems import example_of
from ensample.registry import one_of
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.lab.study import Study

Table = dict[str, Any]
MEASURES = {
    "regret": "final regret",
    "wrong": "share of the rounds not on the best arm",
    "linear": "share of the runs with regret of T/4 or more",
}
KEYS = ("policy", "problem", "measure", "value", "standard_error", "source")
NEEDED = ("policy", "problem", "value")


class Published(NamedTuple):
    """A figure that has been published for a cell."""

    cell: Cell
    measure: str
    value: float
    standard_error: float | None
    source: str

    def compared(self, final: FloatArray, pulls: IntArray | None) -> dict[str, Any]:
        """Return columns of a frame: ours, theirs, and the distance in joint standard errors."""
        ours, error = measured(self.measure, self.cell.horizon, final, pulls)
        theirs = self.standard_error
        joint = 0.0 if theirs is None or math.isnan(error) else math.hypot(error, theirs)
        return {
            "measure": self.measure,
            "ours": ours,
            "our_error": error,
            "theirs": self.value,
            "their_error": theirs,
            "distance": (ours - self.value) / joint if joint else None,
            "source": self.source,
        }


def measured(
    measure: str, horizon: int, final: FloatArray, pulls: IntArray | None
) -> tuple[float, float]:
    """Return our (mean, standard error).

    It comes from the final regret [runs] and the pulls [runs, K], the best arm first.
    """
    if measure == "wrong":
        assert pulls is not None
        values = 1.0 - pulls[:, 0] / horizon
    else:
        values = final if measure == "regret" else (final >= horizon / 4.0).astype(np.float64)
    runs = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan
    return float(values.mean()), error


def published_in(study: "Study") -> list[Published]:
    """Return the figures of a study, each with the one cell that it is about."""
    found = []
    for table in study.published:
        error = table.get("standard_error")
        measure, source = str(table.get("measure", "regret")), str(table.get("source", ""))
        value = float(table["value"]), None if error is None else float(error)
        found.append(Published(cell_of(study, table), measure, *value, source))
    return found


def check_published(study: "Study", mistakes: Mistakes) -> None:
    """Note what is wrong with the tables and, if the grid is right, cells that do not fit."""
    tables = study.published
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        if not mistakes.concern("published"):
            mistakes.add("published", tables, "tables [[published]]")
        return
    grid_is_right = not mistakes
    for table in tables:
        missing = [key for key in NEEDED if key not in table]
        if missing:
            expected = "to be given, with policy, problem and value"
            mistakes.add(f"published.{missing[0]}", None, expected)
        for key, check in CHECKS.items():
            if key in table:
                with mistakes.collected("published"):
                    check(table[key])
        if grid_is_right and {"policy", "problem"} <= table.keys():
            with mistakes.collected():
                check_fit(study, table)


def check_measure(measure: object) -> None:
    if not isinstance(measure, str) or measure not in MEASURES:
        raise InvalidArgument("measure", measure, one_of(str(measure), list(MEASURES)))


CHECKS: dict[str, Callable[[Any], object]] = {
    "value": lambda value: number("value", value),
    "standard_error": lambda error: error is None or number("standard_error", error, 0.0),
    "measure": check_measure,
}


def check_fit(study: "Study", table: Table) -> None:
    numbered = isinstance(example_of(cell_of(study, table).family).arms, FiniteArms)
    if table.get("measure") == "wrong" and not numbered:
        expected = "another one: arms here are not numbered"
        raise InvalidArgument("published.measure", "wrong", expected)


def cell_of(study: "Study", table: Table) -> Cell:
    """Return the one cell that a table fits."""
    axes = {key: value for key, value in table.items() if key not in KEYS}
    names = table["policy"], table["problem"]
    there = [cell for cell in study.cells if (cell.policy, cell.problem) == names]
    there = [c for c in there if all(c.axes.get(axis) == value for axis, value in axes.items())]
    if len(there) != 1:
        raise InvalidArgument("published", table, f"to fit one cell, and it fits {len(there)}")
    return there[0]
