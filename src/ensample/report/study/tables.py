"""Tables of a report, as text ready to show."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ensample.lab.analysis import mean_interval
from ensample.lab.published import MEASURES
from ensample.lab.results import CellOutcome, Results
from ensample.numerals import NOTHING, aligned, interval, percent, signed
from ensample.report.study.measures import Ratios
from ensample.report.study.series import (
    Series,
    assignments,
    by_scenario,
    has_several,
    join,
    singles,
    value_name,
)


class Column(NamedTuple):
    name: str
    numeric: bool = True
    long: bool = False  # text that may wrap


class Field(NamedTuple):
    text: str
    kind: str = ""  # lower, higher, best


class RowGroup(NamedTuple):
    title: str
    rows: list[list[Field]]


class StudyTable(NamedTuple):
    columns: list[Column]
    groups: list[RowGroup]

    @property
    def size(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    def count(self, start: str) -> int:
        """Count rows whose last field begins so."""
        rows = [row for group in self.groups for row in group.rows]
        return sum(row[-1].text.startswith(start) for row in rows)


def simple_table(columns: str, rows: Iterable[Iterable[str | Field]]) -> StudyTable:
    """Return a table of one group. In `columns`, names of text end in *, of text that wraps in **.

    >>> [column.numeric for column in simple_table("policy*, mean", [["a", "1.5"]]).columns]
    [False, True]
    """
    fields = [[Field(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    named = [
        Column(name.rstrip("*"), not name.endswith("*"), name.endswith("**"))
        for name in columns.split(", ")
    ]
    return without_empty(StudyTable(named, [RowGroup("", fields)]))


def without_empty(table: StudyTable) -> StudyTable:
    """Leave out columns in which no row has anything."""
    rows = [row for group in table.groups for row in group.rows]
    kept = [
        place
        for place in range(len(table.columns))
        if any(row[place].text not in ("", NOTHING) for row in rows)
    ]
    groups = [
        RowGroup(group.title, [[row[place] for place in kept] for row in group.rows])
        for group in table.groups
    ]
    return StudyTable([table.columns[place] for place in kept], groups)


def final_table(results: Results, baseline: str) -> StudyTable:
    """Return a row a cell, problem by problem, with its difference from the baseline's cell."""
    differences = {row["cell"]: row for row in results.differences(baseline).to_dicts()}
    series = singles(results)
    own = list(dict.fromkeys(axis for one in series for axis in one.own))
    groups = []
    for group in by_scenario(series):
        best = min(one.level for one in group)
        names = {
            one.outcomes[0].cell.name: one.full_name
            for one in group
            if one.policy == baseline and one.own
        }
        rows = []
        for one in group:
            difference = differences.get(one.outcomes[0].cell.number)
            compared = compared_fields(difference, names)
            rows.append(final_row(one, own, compared, one.level == best))
        groups.append(RowGroup(group[0].title(has_several(results)), rows))
    cells = [row for group in groups for row in group.rows]
    columns = [Column("policy", False)]
    for place, axis in enumerate(own, 1):
        starts = {row[place].text[:1] for row in cells}
        columns.append(Column(axis, starts <= {"", NOTHING, *"0123456789"}))
    names_of_numbers = "mean, 95% interval, median, 90th pct., worst, best arm"
    columns += [Column(name) for name in names_of_numbers.split(", ")]
    columns += [Column("baseline", False), Column("minus baseline"), Column("95% interval")]
    return without_empty(StudyTable([*columns, Column("µs a round")], groups))


def final_row(one: Series, own: list[str], compared: list[Field], is_best: bool) -> list[Field]:
    outcome = one.outcomes[0]
    final = outcome.regret[:, -1]
    mean, low, high = mean_interval(final)
    spread = [*np.quantile(final, [0.5, 0.9]).tolist(), float(final.max())]
    pulls, seconds = outcome.pulls, outcome.seconds_per_round
    best_arm = ""
    if pulls is not None:
        best_arm = percent(float(pulls[:, 0].mean()) / outcome.cell.horizon)
    return [
        Field(one.policy),
        *(Field(value_name(one.own[axis]) if axis in one.own else "") for axis in own),
        Field(aligned(mean), "best" if is_best else ""),
        Field(interval(low, high)),
        *(Field(aligned(x) if len(final) > 1 else "") for x in spread),
        Field(best_arm),
        *compared,
        Field("" if math.isnan(seconds) else aligned(1e6 * seconds)),
    ]


def compared_fields(difference: dict[str, Any] | None, names: dict[str, str]) -> list[Field]:
    """Return the baseline's cell where it has several, the difference from it, and its interval.

    It is marked where the interval leaves out zero, unless other cells of the baseline may be
    better.
    """
    if difference is None:
        return [Field(""), Field(""), Field("")]
    low, high = difference["low"], difference["high"]
    is_sure = difference["alike"] and (low > 0.0 or high < 0.0)  # false for NaN
    kind = ("lower" if high < 0.0 else "higher") if is_sure else ""
    return [
        Field(names.get(difference["against"], "")),
        Field(signed(difference["mean"]), kind),
        Field("" if math.isnan(low) else interval(low, high)),
    ]


def best_table(results: Results) -> StudyTable | None:
    """Return the lowest mean regret on each problem; None where there is one problem."""
    rows = []
    for group in by_scenario(singles(results)):
        best = min(group, key=lambda one: one.level)
        mean, low, high = mean_interval(best.outcomes[0].regret[:, -1])
        title = group[0].title(has_several(results))
        rows.append([title, best.full_name, aligned(mean), interval(low, high)])
    columns = "problem*, policy*, mean, 95% interval"
    return simple_table(columns, rows) if len(rows) > 1 else None


def ratio_table(found: list[Ratios]) -> StudyTable:
    """Return ratios to the best in hindsight, the smallest worst case first."""
    rows = [
        [one.policy, one.chosen, aligned(one.median), aligned(one.worst), one.where]
        for one in sorted(found, key=lambda one: one.worst)
    ]
    return simple_table("policy*, choice*, median, worst, on*", rows)


def bound_table(results: Results) -> StudyTable | None:
    """Return regret beside the bound of the policy's theorem; None where no policy has one."""
    pairs = zip(results.cells.to_dicts(), results.outcomes, strict=True)
    rows = [bound_row(row, outcome) for row, outcome in pairs if row["bound"] is not None]
    columns = "policy*, problem*, mean, worst run, bound, holds with probability, "
    return simple_table(columns + "runs within it, 2ST, the bound is*", rows) if rows else None


def bound_row(row: dict[str, Any], outcome: CellOutcome) -> list[str]:
    cell, bound = outcome.cell, row["bound"]
    setting = cell.recipe.setting
    assert setting is not None
    trivial = 2.0 * setting.norm * setting.horizon
    within = float((outcome.regret[:, -1] <= bound).mean())
    ratio = bound / row["mean"] if row["mean"] > 0.0 else math.inf
    is_vacuous = bound >= trivial
    return [
        cell.policy,
        join(cell.problem, assignments(dict(cell.axes))),
        *(aligned(x) for x in (row["mean"], row["worst"], bound)),
        percent(row["bound_confidence"]),
        percent(within),
        aligned(trivial),
        "above 2ST: says nothing yet" if is_vacuous else f"{aligned(ratio)} times the mean",
    ]


def published_table(results: Results) -> StudyTable | None:
    """Return published figures beside ours; None where the study has none."""
    rows = []
    for row in results.published().to_dicts():
        axes = {axis: row[axis] for axis in results.axes if row[axis] is not None}
        rows.append(
            [
                row["policy"],
                join(row["problem"], assignments(axes)),
                MEASURES[row["measure"]],
                with_error(row["theirs"], row["their_error"]),
                with_error(row["ours"], row["our_error"]),
                "" if row["distance"] is None else signed(row["distance"]),
                row["source"],
            ]
        )
    columns = "policy*, problem*, measure**, published, here, distance, source**"
    return simple_table(columns, rows) if rows else None


def with_error(x: float, error: float | None) -> str:
    return aligned(x) if error is None or math.isnan(error) else f"{aligned(x)} ± {aligned(error)}"
