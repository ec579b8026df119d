"""Plates about regret: over the rounds, at the end, and against each axis of the study."""

from dataclasses import replace
from functools import partial
from typing import Any

from ensample.lab.results import Results
from ensample.numerals import aligned, decimals
from ensample.report.study.lines import far_lines, final_regret, plot_against, plot_curves
from ensample.report.study.panels import PANELS, STEPS, Line, Looks, Panel, arrange, ramp_lines
from ensample.report.study.plates import (
    MOST_ROWS,
    Dot,
    DotRow,
    LegendKey,
    Picture,
    Plate,
    dot_picture,
    line_picture,
)
from ensample.report.study.series import (
    Series,
    along,
    at_last_horizon,
    categories,
    enumerated,
    evenly,
    grouped,
    join,
    lowest,
    numeric_axes,
    problems,
    singles,
    value_name,
    without,
)

BESIDE = 2  # up to so many panels are drawn on both kinds of axes


def curve_plates(results: Results, looks: Looks) -> list[Plate]:
    """Return curves on linear axes, and on logarithmic ones for few panels or where needed."""
    linear, logarithmic = (curve_plate(results, looks, log) for log in (False, True))
    panels = arrange(at_last_horizon(singles(results)), looks).panels
    if len(panels) <= BESIDE:
        pairs = zip(linear.pictures, logarithmic.pictures, strict=True)
        pictures = [picture for pair in pairs for picture in pair]
        return [replace(linear, pictures=pictures)]
    if any(far_lines(panel.lines) for panel in panels):
        title = "The same on logarithmic axes"
        return [linear, replace(logarithmic, name="curves-log", title=title)]
    return [linear]


def curve_plate(results: Results, looks: Looks, log: bool) -> Plate:
    """Return regret over the rounds on one kind of axes."""
    arrangement = arrange(at_last_horizon(singles(results)), looks)
    pictures = []
    for panel in arrangement.panels:
        picture = line_picture(panel, plot_curves, log=log)
        above = [] if log else far_lines(panel.lines)
        if above:
            names = enumerated(f"{line.label} ({aligned(line.series.level)})" for line in above)
            picture = picture._replace(notes=[f"Above this panel: {names}."])
        pictures.append(picture)
    has_bands = results.study.runs > 1
    bands = "Mean of the runs; bands are 95% intervals of it." if has_bands else ""
    caption = join(bands, *arrangement.notes, between=" ")
    return Plate("curves", "Regret over the rounds", pictures, caption)


def final_plate(results: Results, looks: Looks) -> Plate | None:
    """Return final regret, a row a policy and a dot a number; None where one dot would be all."""
    if len(results.outcomes) < 2:
        return None
    rows = [grouped(group, lambda one: one.identity) for group in problems(results)]
    pictures = [
        dot_picture(
            looks.title(policies[0]),
            [final_row(members, looks) for members in evenly(policies, MOST_ROWS)],
            "final regret",
        )
        for policies in evenly(rows, PANELS)
    ]
    longest, has_ramps = max(map(len, rows)), any(len(one) > 1 for each in rows for one in each)
    too_many = f"{PANELS} of {len(rows)} problems are drawn; the table has all of them."
    too_long = f"{MOST_ROWS} of {longest} policies are drawn."
    ramps = "Where a row has several dots, its numbers grow downwards and along the colours."
    caption = join(
        too_many if len(rows) > PANELS else "",
        too_long if longest > MOST_ROWS else "",
        ramps if has_ramps else "",
        "Bars are 95% intervals." if results.study.runs > 1 else "",
        between=" ",
    )
    return Plate("final", "Final regret", pictures, caption)


def final_row(members: list[Series], looks: Looks) -> DotRow:
    """Return the row of a policy, with its name and the range of its numbers."""
    first, last = members[0], members[-1]
    if len(members) == 1:
        return DotRow(first.name, [final_dot(looks.line(first))])
    ranges = [
        f"{axis} {value_name(given)} to {value_name(last.own[axis])}"
        for axis, given in first.own.items()
        if given != last.own[axis] and not isinstance(given, str)
    ]
    dots = [final_dot(line) for line in ramp_lines(evenly(members, STEPS))]
    return DotRow(f"{first.name}: {', '.join(ranges)}", dots)


def final_dot(line: Line) -> Dot:
    return Dot(*final_regret(line.series.outcomes[0]), line.look)


def category_plates(results: Results, looks: Looks) -> dict[str, Plate]:
    """Return regret against each axis of the problems that is not a number, such as a noise."""
    plates = {}
    series = at_last_horizon(singles(results))
    for axis in dict.fromkeys(axis for one in series for axis in categories(one.place)):
        having = [one for one in series if axis in one.place]
        groups = grouped(having, partial(other_axes, axis=axis))
        pictures = [category_picture(group, axis, looks) for group in evenly(groups, PANELS)]
        bars = "" if results.study.runs == 1 else "Bars are 95% intervals."
        title = f"Regret against {axis}"
        plates[axis] = Plate(f"axis-{slug(axis)}", title, pictures, bars)
    return plates


def other_axes(one: Series, axis: str) -> tuple[Any, ...]:
    return one.problem, *without(one.place, axis).items()


def category_picture(group: list[Series], axis: str, looks: Looks) -> Picture:
    """Draw a row a value and a dot a policy, each at its best number."""
    rows: list[DotRow] = []
    legend: dict[str, LegendKey] = {}
    for same in grouped(group, lambda one: one.place[axis]):
        lines = [looks.line(one) for one in lowest(same, lambda one: one.identity)[:MOST_ROWS]]
        legend |= {line.label: LegendKey(line.look, line.label, "dot") for line in lines}
        rows.append(DotRow(value_name(same[0].place[axis]), [final_dot(line) for line in lines]))
    others = replace(group[0], place=without(group[0].place, axis))
    title, keys = others.title(looks.several), list(legend.values())
    return dot_picture(title, rows, "final regret", keys)


def axis_plates(results: Results, looks: Looks) -> dict[str, Plate]:
    """Return regret against each axis of numbers, with the slopes below the panels."""
    slopes = results.slopes().to_dicts()
    plates = {}
    for axis in numeric_axes(results):
        arrangement = arrange(along(results, axis), looks)
        options: dict[str, Any] = {"axis": axis, "label": "final regret", "measure": final_regret}
        pictures = [
            line_picture(panel, plot_against, slope_remarks(panel, axis, slopes), **options)
            for panel in arrangement.panels
        ]
        bars = "Bars are 95% intervals, dotted lines are policies without this axis"
        caption = join(f"{bars} (at their best).", *arrangement.notes, between=" ")
        plates[axis] = Plate(f"axis-{slug(axis)}", f"Regret against {axis}", pictures, caption)
    return plates


def slope_remarks(panel: Panel, axis: str, slopes: list[dict[str, Any]]) -> list[LegendKey]:
    """Return slope and interval of each line that has one."""
    remarks = []
    for line in panel.lines:
        rows = [row for row in slopes if row["axis"] == axis and is_of(row, line.series, axis)]
        if rows:
            slope, low, high = (decimals(rows[0][key], 2) for key in ("slope", "low", "high"))
            several = len(line.series.outcomes[0].regret) > 1
            interval = f" ({low} to {high})" if several else ""
            remarks.append(LegendKey(line.look, f"{line.label}: slope {slope}{interval}"))
    return remarks


def is_of(row: dict[str, Any], series: Series, axis: str) -> bool:
    """Return whether a row of slopes is about this line."""
    others = without(dict(series.outcomes[0].cell.axes), axis)
    same = (row["policy"], row["problem"]) == (series.policy, series.problem)
    return same and all(str(row.get(name)) == str(given) for name, given in others.items())


def slug(axis: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in axis)
