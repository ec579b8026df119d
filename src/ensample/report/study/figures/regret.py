"""The figures about regret: over the rounds, at the end, against each axis of numbers."""

from dataclasses import replace
from typing import Any

from ensample.lab.results import Results
from ensample.numerals import aligned, decimals
from ensample.report.study.figures import draw
from ensample.report.study.figures.arrange import Looks, Panel, arrange, coloured, evenly
from ensample.report.study.figures.plates import (
    LOGARITHMIC,
    LegendKey,
    Picture,
    Plate,
    keys_of,
    shared_legend,
)
from ensample.report.study.figures.rows import MOST_ROWS, Dot, DotRow, dots, inches
from ensample.report.study.figures.series import (
    Series,
    along,
    at_last_horizon,
    categories,
    lowest,
    numeric_axes,
    scenarios,
    singles,
)
from ensample.report.study.words import listed, value

BESIDE = 2  # up to so many panels are drawn on linear and on logarithmic axes
CURVES = "Regret over the rounds"
PANELS, STEPS = 12, 7


def curve_plates(results: Results, looks: Looks) -> list[Plate]:
    """Regret over the rounds: on both kinds of axes side by side for few panels, else one kind after the other where needed."""
    panels = arrange(at_last_horizon(singles(results)), looks).panels
    linear = curve_plate(results, looks, log=False)
    logarithmic = curve_plate(results, looks, log=True)
    if len(panels) <= BESIDE:
        pictures = [
            picture
            for pair in zip(linear.pictures, logarithmic.pictures, strict=True)
            for picture in pair
        ]
        return [replace(linear, pictures=pictures, legend=shared_legend(pictures))]
    if any(draw.far(panel.lines) for panel in panels):
        return [
            linear,
            replace(logarithmic, name="curves-log", title="The same on logarithmic axes"),
        ]
    return [linear]


def curve_plate(results: Results, looks: Looks, log: bool) -> Plate:
    """Regret over the rounds on one kind of axes."""
    arrangement = arrange(at_last_horizon(singles(results)), looks)
    pictures = [curve_picture(panel, log) for panel in arrangement.panels]
    band = [] if results.study.runs == 1 else ["Mean of the runs; bands are 95% intervals of it."]
    return Plate(
        "curves", CURVES, pictures, shared_legend(pictures), " ".join(band + arrangement.notes)
    )


def curve_picture(panel: Panel, log: bool) -> Picture:
    above = [] if log else draw.far(panel.lines)
    said = listed([f"{line.label} ({aligned(line.series.level)})" for line in above])
    return Picture(
        panel.title,
        lambda axes: draw.curves(axes, panel.lines, log),
        keys_of(panel),
        notes=[f"Above this panel: {said}."] if above else [],
        scale=LOGARITHMIC if log else "",
        framed=True,
    )


def final_plate(results: Results, looks: Looks) -> Plate | None:
    """Final regret of every policy with its rules, a dot for each value of its numbers; None where one dot would be all."""
    if len(results.outcomes) < 2:
        return None
    groups = list(scenarios(at_last_horizon(singles(results))).values())
    pictures = [dot_picture(group, looks) for group in evenly(groups, PANELS)]
    drawn = (
        ""
        if len(groups) <= PANELS
        else f"{PANELS} of {len(groups)} problems are drawn; the table has all of them. "
    )
    longest = max(len(rows_of(group)) for group in groups)
    drawn += "" if longest <= MOST_ROWS else f"{MOST_ROWS} of {longest} policies are drawn. "
    several = any(len(row) > 1 for group in groups for row in rows_of(group).values())
    order = (
        "Where a row has several dots, its numbers grow downwards and along the colours. "
        if several
        else ""
    )
    bars = "" if results.study.runs == 1 else "Bars are 95% intervals."
    return Plate("final", "Final regret", pictures, caption=(drawn + order + bars).strip())


def rows_of(group: list[Series]) -> dict[object, list[Series]]:
    rows: dict[object, list[Series]] = {}
    for one in group:
        rows.setdefault(one.identity, []).append(one)
    return rows


def dot_picture(group: list[Series], looks: Looks) -> Picture:
    rows = []
    for members in evenly(list(rows_of(group).values()), MOST_ROWS):
        if len(members) == 1:
            rows.append(
                DotRow(
                    members[0].name,
                    [Dot(*draw.final(members[0].outcomes[0]), looks.of(members[0]))],
                )
            )
        else:
            lines = coloured(evenly(members, STEPS))
            rows.append(
                DotRow(
                    ranged(members),
                    [Dot(*draw.final(line.series.outcomes[0]), line.look) for line in lines],
                )
            )
    height = inches([row.depth for row in rows])
    return Picture(
        group[0].title(looks.several), lambda axes: dots(axes, rows, "final regret"), height=height
    )


def ranged(members: list[Series]) -> str:
    """A row's name with the range of its numbers."""
    first, last = members[0], members[-1]
    spans = [
        f"{axis} {value(first.own[axis])} to {value(last.own[axis])}"
        for axis in first.own
        if first.own[axis] != last.own[axis] and not isinstance(first.own[axis], str)
    ]
    return f"{first.name}: {', '.join(spans)}"


def category_plates(results: Results, looks: Looks) -> dict[str, Plate]:
    """Regret against each axis of the problems that is not a number (a law of the noise): a row a value, a dot a policy."""
    plates = {}
    series = at_last_horizon(singles(results))
    for axis in dict.fromkeys(axis for one in series for axis in categories(one.place)):
        groups: dict[Any, list[Series]] = {}
        for one in series:
            if axis in one.place:
                rest = {name: given for name, given in one.place.items() if name != axis}
                groups.setdefault((one.problem, *rest.items()), []).append(one)
        pictures = [
            category_picture(group, axis, looks) for group in evenly(list(groups.values()), PANELS)
        ]
        bars = "" if results.study.runs == 1 else "Bars are 95% intervals."
        plates[axis] = Plate(
            f"axis-{slug(axis)}", f"Regret against {axis}", pictures, shared_legend(pictures), bars
        )
    return plates


def category_picture(group: list[Series], axis: str, looks: Looks) -> Picture:
    """Policies that vary a number at their best one."""
    rows: list[DotRow] = []
    legend: dict[str, LegendKey] = {}
    for given in dict.fromkeys(one.place[axis] for one in group):
        shown = lowest(
            [one for one in group if one.place[axis] == given], lambda one: one.identity
        )[:MOST_ROWS]
        legend |= {one.name: LegendKey(looks.of(one), one.name, "dot") for one in shown}
        rows.append(
            DotRow(
                value(given), [Dot(*draw.final(one.outcomes[0]), looks.of(one)) for one in shown]
            )
        )
    others = Series(
        "",
        group[0].problem,
        {name: v for name, v in group[0].place.items() if name != axis},
        {},
        [],
    )
    height = inches([row.depth for row in rows])
    title = others.title(looks.several)
    return Picture(
        title, lambda axes: dots(axes, rows, "final regret"), list(legend.values()), height=height
    )


def slug(axis: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in axis)


def axis_plates(results: Results, looks: Looks) -> dict[str, Plate]:
    """Regret against each axis of numbers, with the slopes below the panels."""
    slopes = results.slopes().to_dicts()
    plates = {}
    for axis in numeric_axes(results):
        arrangement = arrange(along(results, axis), looks)
        pictures = [
            Picture(
                panel.title,
                lambda axes, panel=panel, axis=axis: draw.against(
                    axes, panel.lines, axis, "final regret", draw.final
                ),  # type: ignore[misc]
                keys_of(panel),
                slope_remarks(panel, axis, slopes),
                scale=LOGARITHMIC,
                framed=True,
            )
            for panel in arrangement.panels
        ]
        said = [
            "Bars are 95% intervals, dotted lines are policies without this axis (at their best).",
            *arrangement.notes,
        ]
        plates[axis] = Plate(
            f"axis-{slug(axis)}",
            f"Regret against {axis}",
            pictures,
            shared_legend(pictures),
            " ".join(said),
        )
    return plates


def slope_remarks(panel: Panel, axis: str, slopes: list[dict[str, Any]]) -> list[LegendKey]:
    """Slope and interval of each line that has one."""
    remarks = []
    for line in panel.lines:
        row = next(
            (row for row in slopes if row["axis"] == axis and fits(row, line.series, axis)), None
        )
        if row is not None:
            rate, low, high = (decimals(row[key], 2) for key in ("slope", "low", "high"))
            sure = len(line.series.outcomes[0].regret) > 1
            remarks.append(
                LegendKey(
                    line.look,
                    f"{line.label}: slope {rate}" + (f" ({low} to {high})" if sure else ""),
                )
            )
    return remarks


def fits(row: dict[str, Any], series: Series, axis: str) -> bool:
    """Whether a row of slopes is about this line."""
    others = {name: given for name, given in series.outcomes[0].cell.axes.items() if name != axis}
    same = (row["policy"], row["problem"]) == (series.policy, series.problem)
    return same and all(str(row.get(name)) == str(given) for name, given in others.items())
