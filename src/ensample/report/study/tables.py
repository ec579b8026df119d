"""The tables of a report, as text ready to show."""

import math
from typing import Any, NamedTuple

import numpy as np

from ensample.lab.analysis import mean_interval
from ensample.lab.published import MEASURES
from ensample.lab.results import CellOutcome, Results
from ensample.numerals import NOTHING, aligned, interval, percent, signed
from ensample.report.study.figures.hindsight import Ratios
from ensample.report.study.figures.series import Series, scenarios, singles
from ensample.report.study.words import assigned, value


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


def final_table(results: Results, baseline: str) -> StudyTable:
    """A row a cell, problem by problem; columns that have nothing to say are left out."""
    differences = {row["cell"]: row for row in results.differences(baseline).to_dicts()}
    own = list(dict.fromkeys(axis for one in singles(results) for axis in one.own))
    groups = []
    several = len({outcome.cell.problem for outcome in results.outcomes}) > 1
    for group in scenarios(singles(results)).values():
        lowest = min(one.level for one in group)
        names = {
            one.outcomes[0].cell.name: one.full_name
            for one in group
            if one.policy == baseline and one.own
        }
        rows = [
            final_row(
                one,
                own,
                compared(differences.get(one.outcomes[0].cell.number), names),
                one.level == lowest,
            )
            for one in group
        ]
        groups.append(RowGroup(group[0].title(several), rows))
    columns = [
        Column("policy", False),
        *(Column(axis, numeric_column(groups, place)) for place, axis in enumerate(own, 1)),
    ]
    columns += [
        Column(name)
        for name in ("mean", "95% interval", "median", "90th pct.", "worst", "best arm")
    ]
    columns += [
        Column("baseline", False),
        Column("minus baseline"),
        Column("95% interval"),
        Column("µs a round"),
    ]
    return without_empty(StudyTable(columns, groups))


def numeric_column(groups: list[RowGroup], place: int) -> bool:
    return all(
        row[place].text[:1] in "0123456789" + NOTHING or not row[place].text
        for group in groups
        for row in group.rows
    )


def final_row(one: Series, own: list[str], beside: list[Field], lowest: bool) -> list[Field]:
    outcome = one.outcomes[0]
    regret = outcome.regret[:, -1]
    numbers = summary(outcome)
    row = [
        Field(one.policy),
        *(Field(value(one.own[axis]) if axis in one.own else "") for axis in own),
    ]
    row += [
        Field(aligned(numbers["mean"]), "best" if lowest else ""),
        Field(interval(numbers["low"], numbers["high"])),
    ]
    row += [
        Field(aligned(numbers[key])) if len(regret) > 1 else Field("")
        for key in ("median", "p90", "worst")
    ]
    row += [
        Field(
            ""
            if outcome.pulls is None
            else percent(float(outcome.pulls[:, 0].mean()) / outcome.cell.horizon)
        )
    ]
    row += beside
    return [
        *row,
        Field(
            ""
            if math.isnan(outcome.seconds_per_round)
            else aligned(1e6 * outcome.seconds_per_round)
        ),
    ]


def summary(outcome: CellOutcome) -> dict[str, float]:
    """The final regret in a few numbers."""
    final = outcome.regret[:, -1]
    mean, low, high = mean_interval(final)
    median, p90 = np.quantile(final, [0.5, 0.9]).tolist()
    return {
        "mean": mean,
        "low": low,
        "high": high,
        "median": median,
        "p90": p90,
        "worst": float(final.max()),
    }


def compared(difference: dict[str, Any] | None, names: dict[str, str]) -> list[Field]:
    """The baseline's cell where it has several, the difference from it and its interval.

    Marked where the interval leaves out zero, unless that cell is but one of several that it could be compared with.
    """
    if difference is None:
        return [Field(""), Field(""), Field("")]
    low, high = difference["low"], difference["high"]
    unsure = math.isnan(low) or low <= 0.0 <= high or not difference["alike"]
    kind = "" if unsure else "lower" if high < 0.0 else "higher"
    cell = Field(names.get(difference["against"], ""))
    return [
        cell,
        Field(signed(difference["mean"]), kind),
        Field("" if math.isnan(low) else interval(low, high)),
    ]


def without_empty(table: StudyTable) -> StudyTable:
    """Without the columns in which no row says anything."""
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


def ratio_table(found: list[Ratios]) -> StudyTable:
    """Ratios to the best in hindsight, the smallest worst case first."""
    rows = [
        [
            Field(one.policy),
            Field(one.chosen),
            Field(aligned(one.median)),
            Field(aligned(one.worst)),
            Field(one.where),
        ]
        for one in sorted(found, key=lambda one: one.worst)
    ]
    names = (
        Column("policy", False),
        Column("choice", False),
        Column("median"),
        Column("worst"),
        Column("on", False),
    )
    return without_empty(StudyTable([*names], [RowGroup("", rows)]))


def best_table(results: Results) -> StudyTable | None:
    """The lowest mean regret on each problem; None where there is one problem."""
    rows = []
    several = len({outcome.cell.problem for outcome in results.outcomes}) > 1
    for group in scenarios(singles(results)).values():
        best = min(group, key=lambda one: one.level)
        numbers = summary(best.outcomes[0])
        rows.append(
            [
                Field(group[0].title(several)),
                Field(best.full_name),
                Field(aligned(numbers["mean"])),
                Field(interval(numbers["low"], numbers["high"])),
            ]
        )
    columns = [
        Column("problem", False),
        Column("policy", False),
        Column("mean"),
        Column("95% interval"),
    ]
    return without_empty(StudyTable(columns, [RowGroup("", rows)])) if len(rows) > 1 else None


def bound_table(results: Results) -> StudyTable | None:
    """Regret beside the bound of the theorem that the policy follows; None where none does."""
    rows = []
    for row, outcome in zip(results.cells.to_dicts(), results.outcomes, strict=True):
        setting = outcome.cell.recipe.setting
        if row["bound"] is None or setting is None:
            continue
        trivial = 2.0 * setting.norm * setting.horizon
        within = float((outcome.regret[:, -1] <= row["bound"]).mean())
        ratio = row["bound"] / row["mean"] if row["mean"] > 0.0 else math.inf
        verdict = (
            "above 2ST: says nothing yet"
            if row["bound"] >= trivial
            else f"{aligned(ratio)} times the mean"
        )
        rows.append(
            [
                Field(outcome.cell.policy),
                Field(
                    ", ".join(
                        filter(None, [outcome.cell.problem, assigned(dict(outcome.cell.axes))])
                    )
                ),
                *(Field(aligned(x)) for x in (row["mean"], row["worst"], row["bound"])),
                Field(percent(row["bound_confidence"])),
                Field(percent(within)),
                Field(aligned(trivial)),
                Field(verdict),
            ]
        )
    names = ("mean", "worst run", "bound", "holds with probability", "runs within it", "2ST")
    columns = [
        Column("policy", False),
        Column("problem", False),
        *map(Column, names),
        Column("the bound is", False),
    ]
    return StudyTable(columns, [RowGroup("", rows)]) if rows else None


def published_table(results: Results) -> StudyTable | None:
    """Published figures beside ours; None where the study has none."""
    rows = []
    for row in results.published().to_dicts():
        axes = {axis: row[axis] for axis in results.axes if row[axis] is not None}
        rows.append(
            [
                Field(row["policy"]),
                Field(", ".join(filter(None, [row["problem"], assigned(axes)]))),
                Field(MEASURES[row["measure"]]),
                Field(with_error(row["theirs"], row["their_error"])),
                Field(with_error(row["ours"], row["our_error"])),
                Field("" if row["distance"] is None else signed(row["distance"])),
                Field(row["source"]),
            ]
        )
    columns = [
        Column("policy", False),
        Column("problem", False),
        Column("measure", False, True),
        Column("published"),
    ]
    columns += [Column("here"), Column("distance"), Column("source", False, True)]
    table = StudyTable(columns, [RowGroup("", rows)])
    return without_empty(table) if rows else None


def with_error(x: float, error: float | None) -> str:
    return aligned(x) if error is None or math.isnan(error) else f"{aligned(x)} ± {aligned(error)}"


def missing_cells(results: Results) -> list[str]:
    """The names of the cells that are not finished."""
    finished = {outcome.cell.number for outcome in results.outcomes}
    return [cell.name for cell in results.study.cells if cell.number not in finished]
