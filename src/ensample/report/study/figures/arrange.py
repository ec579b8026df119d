"""Which lines go into which panel, so that no panel has more than a reader can tell apart.

A panel is a problem. Where a policy varies a number, its lines follow a ramp of colours; where two do, each gets panels of its
own; where that makes too many panels, every policy is drawn at its best number, and a note says so.
"""

from typing import Any, NamedTuple, TypeVar

from ensample.lab.study import Study
from ensample.report.drawing.style import LOOKS, LineStyle, ramp
from ensample.report.study.figures.series import Series, lowest, numeric, scenarios, split
from ensample.report.study.words import assigned, listed, value

T = TypeVar("T")
LINES, PANELS, STEPS, REFERENCES = 8, 12, 7, 3
APART = (4, 2, 9, 7, 0, 5, 1, 3, 6, 8)  # looks by their distance from the ramp


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

    Policies that vary a number are drawn in the ramp's colours beside the others, which then keep away from these.
    """

    def __init__(self, study: Study, baseline: str) -> None:
        self.baseline = baseline
        self.several = len({cell.problem for cell in study.cells}) > 1
        series = [
            Series(cell.policy, cell.problem, *split(study, cell), []) for cell in study.cells
        ]
        varying = [
            one.identity
            for group in scenarios(series).values()
            for one in group
            if one.identity in ramped(group)
        ]
        identities = list(dict.fromkeys(one.identity for one in series))
        fixed = [identity for identity in identities if identity not in varying]
        first = [LOOKS[place] for place in APART[: len(fixed)]] if varying else list(LOOKS)
        free = first + [look for look in LOOKS if look not in first]
        order = fixed + [identity for identity in identities if identity in varying]
        self.looks = {identity: free[place % len(free)] for place, identity in enumerate(order)}

    def of(self, series: Series) -> LineStyle:
        return self.looks[series.identity]


def arrange(series: list[Series], looks: Looks, most: int = PANELS) -> Arrangement:
    """Panels of at most LINES lines (a few more where these are references), at most `most` of them."""
    groups = list(scenarios(series).values())
    if all(len(group) <= LINES and len(ramped(group)) <= 1 for group in groups):
        panels, notes = [whole(group, looks) for group in groups], []
    else:
        panels = [panel for group in groups for panel in ramps(group, looks)]
        notes = thinned(series, panels)
        if len(panels) > most:
            panels, notes = [best(group, looks) for group in groups], best_notes(groups)
    if len(panels) > most:
        notes.append(f"{most} of {len(panels):,} problems are drawn; the table has all of them.")
    return Arrangement(evenly(panels, most), notes)


def ramped(group: list[Series]) -> list[tuple[Any, ...]]:
    """The policies that vary a number."""
    identities = [one.identity for one in group]
    return [identity for identity in dict.fromkeys(identities) if identities.count(identity) > 1]


def whole(group: list[Series], looks: Looks) -> Panel:
    """All lines of a problem."""
    along_ramp = [one for one in group if one.identity in ramped(group)]
    lines = [Line(one, one.name, looks.of(one)) for one in group if one not in along_ramp]
    return Panel(group[0].title(looks.several), coloured(along_ramp) + lines)


def coloured(ramp_lines: list[Series]) -> list[Line]:
    """Lines of one policy, in the order of its numbers."""
    ordered = sorted(
        ramp_lines, key=lambda one: [given for given in one.own.values() if numeric(given)]
    )
    return [
        Line(one, ", ".join([one.name, assigned(numbers(one))]), look)
        for one, look in zip(ordered, ramp(len(ordered)), strict=True)
    ]


def numbers(one: Series) -> dict[str, Any]:
    return {axis: given for axis, given in one.own.items() if numeric(given)}


def ramps(group: list[Series], looks: Looks) -> list[Panel]:
    """A panel for each policy that varies a number (and for each value of its other numbers), with a few references in each."""
    references = few([one for one in group if one.identity not in ramped(group)], looks)
    panels = []
    for identity in ramped(group):
        own = [one for one in group if one.identity == identity]
        axis = longest(own)
        facets: dict[Any, list[Series]] = {}
        for one in own:
            facets.setdefault(
                tuple(item for item in numbers(one).items() if item[0] != axis), []
            ).append(one)
        for facet, lines in facets.items():
            title = "; ".join(
                filter(None, [group[0].title(looks.several), lines[0].name, assigned(dict(facet))])
            )
            drawn = coloured(evenly(sorted(lines, key=lambda one: one.own[axis]), STEPS))
            shorter = [
                line._replace(label=f"{axis} = {value(line.series.own[axis])}") for line in drawn
            ]
            panels.append(
                Panel(title, shorter + [Line(one, one.name, looks.of(one)) for one in references])
            )
    return panels or [best(group, looks)]


def longest(own: list[Series]) -> str:
    """The number with most values."""
    axes = list(numbers(own[0]))
    return max(axes, key=lambda axis: len({one.own[axis] for one in own}))


def few(references: list[Series], looks: Looks) -> list[Series]:
    """The baseline and the best of the others."""
    ranked = sorted(references, key=lambda one: (one.policy != looks.baseline, one.level))
    return [one for one in references if one in ranked[:REFERENCES]]


def best(group: list[Series], looks: Looks) -> Panel:
    """Each policy at its best number; where these are too many, the baseline and the best of them."""
    chosen = lowest(group, lambda one: one.identity)
    if len(chosen) > LINES:
        chosen = lowest(chosen, lambda one: one.policy)
    ranked = sorted(chosen, key=lambda one: (one.policy != looks.baseline, one.level))[:LINES]
    lines = [Line(one, one.name, looks.of(one)) for one in chosen if one in ranked]
    return Panel(group[0].title(looks.several), lines)


def best_notes(groups: list[list[Series]]) -> list[str]:
    axes = list(dict.fromkeys(axis for group in groups for one in group for axis in numbers(one)))
    if not axes:
        return [f"At most {LINES} policies a panel: the baseline and those with the lowest regret."]
    return [
        f"Each policy at its best {listed(axes)} on that problem, chosen by the same runs, so a little flattered; "
        f"at most {LINES} lines a panel."
    ]


def thinned(series: list[Series], panels: list[Panel]) -> list[str]:
    drawn = {id(line.series) for panel in panels for line in panel.lines}
    left = sum(id(one) not in drawn for one in series)
    return (
        [
            f"{left:,} of {len(series):,} lines are left out, evenly over the axis; the table has all."
        ]
        if left
        else []
    )


def evenly(items: list[T], most: int) -> list[T]:
    """At most so many of them, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
