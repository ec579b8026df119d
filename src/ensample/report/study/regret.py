"""Plates about regret: over the rounds, at the end, and against each axis of the study."""

from dataclasses import replace
from functools import partial
from typing import Any

from ensample.lab.results import Results
from ensample.numerals import aligned, decimals
from ensample.report.study.lines import far_lines, final_regret, plot_against, plot_curves
from ensample.report.study.panels import PANELS, STEPS, Line, Looks, Panel, arrange, ramp_lines
from ensample.report.study.plates import (
    LOGARITHMIC,
    MOST_ROWS,
    Dot,
    DotRow,
    LegendKey,
    Picture,
    Plate,
    dot_picture,
    keys_of,
    shared_legend,
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
        return [replace(linear, pictures=pictures, legend=shared_legend(pictures))]
    if any(far_lines(panel.lines) for panel in panels):
        title = "The same on logarithmic axes"
        return [linear, replace(logarithmic, name="curves-log", title=title)]
    return [linear]


def curve_plate(results: Results, looks: Looks, log: bool) -> Plate:
    """Return regret over the rounds on one kind of axes."""
    arrangement = arrange(at_last_horizon(singles(results)), looks)
    pictures = [curve_picture(panel, log) for panel in arrangement.panels]
    one_run = results.study.runs == 1
    bands = "" if one_run else "Mean of the runs; bands are 95% intervals of it."
    caption = join(bands, *arrangement.notes, between=" ")
    return Plate("curves", "Regret over the rounds", pictures, shared_legend(pictures), caption)


def curve_picture(panel: Panel, log: bool) -> Picture:
    above = [] if log else far_lines(panel.lines)
    names = enumerated(f"{line.label} ({aligned(line.series.level)})" for line in above)
    return Picture(
        panel.title,
        partial(plot_curves, lines=panel.lines, log=log),
        keys_of(panel),
        notes=[f"Above this panel: {names}."] if above else [],
        scale=LOGARITHMIC if log else "",
    )


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
    longest = max(map(len, rows))
    notes = {
        f"{PANELS} of {len(rows)} problems are drawn; the table has all of them.": len(rows)
        > PANELS,
        f"{MOST_ROWS} of {longest} policies are drawn.": longest > MOST_ROWS,
        "Where a row has several dots, its numbers grow downwards and along the colours.": any(
            len(members) > 1 for policies in rows for members in policies
        ),
        "Bars are 95% intervals.": results.study.runs > 1,
    }
    caption = " ".join(note for note, applies in notes.items() if applies)
    return Plate("final", "Final regret", pictures, caption=caption)


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
        plates[axis] = Plate(f"axis-{slug(axis)}", title, pictures, shared_legend(pictures), bars)
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
        pictures = [axis_picture(panel, axis, slopes) for panel in arrangement.panels]
        bars = (
            "Bars are 95% intervals, dotted lines are policies without this axis (at their best)."
        )
        plates[axis] = Plate(
            f"axis-{slug(axis)}",
            f"Regret against {axis}",
            pictures,
            shared_legend(pictures),
            join(bars, *arrangement.notes, between=" "),
        )
    return plates


def axis_picture(panel: Panel, axis: str, slopes: list[dict[str, Any]]) -> Picture:
    return Picture(
        panel.title,
        partial(
            plot_against, lines=panel.lines, axis=axis, label="final regret", measure=final_regret
        ),
        keys_of(panel),
        slope_remarks(panel, axis, slopes),
        scale=LOGARITHMIC,
    )


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
