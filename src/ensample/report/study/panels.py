"""Choice of panels and lines, so that no panel has more lines than a reader can tell apart.

A panel is a problem. Where a policy varies a number, its lines follow a ramp of colours; where two
policies do, each gets panels of its own; where that makes too many panels, every policy is drawn at
its best number, and a note says so.
"""

from functools import partial
from typing import Any, NamedTuple

from ensample.lab.study import Study
from ensample.report.study.series import (
    Series,
    assignments,
    by_scenario,
    enumerated,
    evenly,
    grouped,
    join,
    lowest,
    numbers,
    split_axes,
    value_name,
)
from ensample.report.style import LOOKS, LineStyle, ramp

LINES, PANELS, STEPS, REFERENCES = 8, 12, 7, 3
FAR_FROM_RAMP = (4, 2, 9, 7, 0, 5, 1, 3, 6, 8)  # looks by their distance from the ramp's colours


class Line(NamedTuple):
    series: Series
    label: str
    look: LineStyle


class Panel(NamedTuple):
    title: str
    lines: list[Line]


class Arrangement(NamedTuple):
    panels: list[Panel]
    notes: list[str]


class Looks:
    """One look for each policy and its rules, the same in every figure of a report.

    Policies that vary a number are drawn in the ramp's colours; others then keep away from these.
    """

    def __init__(self, study: Study, baseline: str) -> None:
        self.baseline = baseline
        self.several = len({cell.problem for cell in study.cells}) > 1
        series = [
            Series(cell.policy, cell.problem, *split_axes(study, cell), []) for cell in study.cells
        ]
        varying = {one for group in by_scenario(series) for one in ramped(group)}
        identities = list(dict.fromkeys(one.identity for one in series))
        fixed = [identity for identity in identities if identity not in varying]
        places = FAR_FROM_RAMP[: len(fixed)] if varying else range(len(LOOKS))
        first = [LOOKS[place] for place in places]
        free = first + [look for look in LOOKS if look not in first]
        order = fixed + [identity for identity in identities if identity in varying]
        self._looks = {identity: free[place % len(free)] for place, identity in enumerate(order)}

    def of(self, series: Series) -> LineStyle:
        return self._looks[series.identity]

    def line(self, series: Series) -> Line:
        return Line(series, series.name, self.of(series))

    def title(self, group: list[Series]) -> str:
        return group[0].title(self.several)


def arrange(series: list[Series], looks: Looks, most: int = PANELS) -> Arrangement:
    """Return at most `most` panels of at most LINES lines (a few more with references)."""
    groups = by_scenario(series)
    if all(len(group) <= LINES and len(ramped(group)) <= 1 for group in groups):
        panels, notes = [panel_of_all(group, looks) for group in groups], []
    else:
        panels = [panel for group in groups for panel in panels_by_policy(group, looks)]
        drawn = {id(line.series) for panel in panels for line in panel.lines}
        left_out = sum(id(one) not in drawn for one in series)
        counts = f"{left_out:,} of {len(series):,} lines"
        notes = [f"{counts} are left out, evenly over the axis; the table has all."]
        notes = notes if left_out else []
        if len(panels) > most:
            panels, notes = [panel_of_best(group, looks) for group in groups], best_notes(series)
    if len(panels) > most:
        notes.append(f"{most} of {len(panels):,} problems are drawn; the table has all of them.")
    return Arrangement(evenly(panels, most), notes)


def ramped(group: list[Series]) -> list[tuple[Any, ...]]:
    """Return the identities of the policies that vary a number."""
    kinds = grouped(group, lambda one: one.identity)
    return [kind[0].identity for kind in kinds if len(kind) > 1]


def panel_of_all(group: list[Series], looks: Looks) -> Panel:
    varying = [one for one in group if one.identity in ramped(group)]
    others = [looks.line(one) for one in group if one not in varying]
    return Panel(looks.title(group), ramp_lines(varying) + others)


def ramp_lines(series: list[Series]) -> list[Line]:
    """Return lines of one policy, in the order of its numbers."""
    ordered = sorted(series, key=lambda one: list(numbers(one.own).values()))
    return [
        Line(one, f"{one.name}, {assignments(numbers(one.own))}", look)
        for one, look in zip(ordered, ramp(len(ordered)), strict=True)
    ]


def panels_by_policy(group: list[Series], looks: Looks) -> list[Panel]:
    """Return panels of each policy that varies a number, with a few references in each."""
    varying = ramped(group)
    others = [one for one in group if one.identity not in varying]
    ranked = sorted(others, key=lambda one: (one.policy != looks.baseline, one.level))
    references = [looks.line(one) for one in others if one in ranked[:REFERENCES]]
    panels = []
    for identity in varying:
        own = [one for one in group if one.identity == identity]
        axis = longest_axis(own)
        for lines in grouped(own, partial(rest, axis=axis)):
            facet = assignments(dict(rest(lines[0], axis)))
            title = join(looks.title(group), lines[0].name, facet, between="; ")
            shown = evenly(sorted(lines, key=lambda one: one.own[axis]), STEPS)
            drawn = [
                line._replace(label=f"{axis} = {value_name(line.series.own[axis])}")
                for line in ramp_lines(shown)
            ]
            panels.append(Panel(title, drawn + references))
    return panels or [panel_of_best(group, looks)]


def rest(one: Series, axis: str) -> tuple[tuple[str, Any], ...]:
    """Return the other numbers of a policy."""
    return tuple(item for item in numbers(one.own).items() if item[0] != axis)


def longest_axis(own: list[Series]) -> str:
    """Return the number with most values."""
    return max(numbers(own[0].own), key=lambda axis: len({one.own[axis] for one in own}))


def panel_of_best(group: list[Series], looks: Looks) -> Panel:
    """Return each policy at its best number; of too many, the baseline and the best."""
    chosen = lowest(group, lambda one: one.identity)
    if len(chosen) > LINES:
        chosen = lowest(chosen, lambda one: one.policy)
    ranked = sorted(chosen, key=lambda one: (one.policy != looks.baseline, one.level))[:LINES]
    return Panel(looks.title(group), [looks.line(one) for one in chosen if one in ranked])


def best_notes(series: list[Series]) -> list[str]:
    axes = list(dict.fromkeys(axis for one in series for axis in numbers(one.own)))
    if not axes:
        return [f"At most {LINES} policies a panel: the baseline and those with the lowest regret."]
    return [
        f"Each policy at its best {enumerated(axes)} on that problem, chosen by the same runs, "
        f"so a little flattered; at most {LINES} lines a panel."
    ]
