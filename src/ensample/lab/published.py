"""Figures from the literature beside ours: the [[published]] tables of a study."""

import math
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
    return [one(study, table) for table in study.published]


def one(study: "Study", table: dict[str, Any]) -> Published:
    error = table.get("standard_error")
    return Published(
        cell_of(study, table),
        str(table.get("measure", "regret")),
        float(table["value"]),
        None if error is None else float(error),
        str(table.get("source", "")),
    )


def check_published(study: "Study", mistakes: Mistakes) -> None:
    """Note what is wrong with the tables. Which cell one fits is asked where the grid is right."""
    tables = study.published
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        if not mistakes.touch("published"):
            mistakes.add("published", tables, "tables [[published]]")
        return
    grid_is_right = not mistakes
    for table in tables:
        for check in (check_given, check_value, check_error, check_measure):
            with mistakes.noted():
                check(table)
        if grid_is_right and {"policy", "problem"} <= table.keys():
            with mistakes.noted():
                check_fit(study, table)


def check_given(table: dict[str, Any]) -> None:
    for key in ("policy", "problem", "value"):
        if key not in table:
            raise InvalidArgument(
                f"published.{key}", None, "to be given, with policy, problem and value"
            )


def check_value(table: dict[str, Any]) -> None:
    if "value" in table:
        number("published.value", table["value"])


def check_error(table: dict[str, Any]) -> None:
    if table.get("standard_error") is not None:
        number("published.standard_error", table["standard_error"], 0.0)


def check_measure(table: dict[str, Any]) -> None:
    measure = table.get("measure", "regret")
    if not isinstance(measure, str) or measure not in MEASURES:
        raise InvalidArgument("published.measure", measure, one_of(str(measure), list(MEASURES)))


def check_fit(study: "Study", table: dict[str, Any]) -> None:
    numbered = isinstance(example_of(cell_of(study, table).family).arms, FiniteArms)
    if table.get("measure") == "wrong" and not numbered:
        raise InvalidArgument(
            "published.measure", "wrong", "another one: arms here are not numbered"
        )


def cell_of(study: "Study", table: dict[str, Any]) -> Cell:
    """The cell that a table is about."""
    axes = {key: value for key, value in table.items() if key not in KEYS}
    fitting = [
        cell
        for cell in study.cells
        if (cell.policy, cell.problem) == (table["policy"], table["problem"])
        and all(cell.axes.get(axis) == value for axis, value in axes.items())
    ]
    if len(fitting) != 1:
        raise InvalidArgument("published", table, f"to fit one cell, and it fits {len(fitting)}")
    return fitting[0]


def measured(
    measure: str, horizon: int, regret: FloatArray, pulls: IntArray | None
) -> tuple[float, float]:
    """(mean, standard error) of ours, from the final regret [runs] and the pulls [runs, K], the best arm first."""
    if measure == "wrong":
        assert pulls is not None
        values = 1.0 - pulls[:, 0] / horizon
    else:
        values = regret if measure == "regret" else (regret >= horizon / 4.0).astype(np.float64)
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)) if len(
        values
    ) > 1 else math.nan
