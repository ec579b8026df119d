"""Plates of ratios to the best in hindsight, bounds of theorems, arms played, and cost."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ensample.lab.cell import Cell
from ensample.lab.grid import axes_of, expand
from ensample.lab.results import CellOutcome, Results
from ensample.lab.study import Study
from ensample.numerals import numeral
from ensample.palette import RULE
from ensample.report.study.lines import cost, plot_against
from ensample.report.study.panels import Looks, arrange
from ensample.report.study.plates import (
    MOST_ROWS,
    Dot,
    DotRow,
    LegendKey,
    Picture,
    Plate,
    dot_picture,
    heat_inches,
    line_picture,
    plot_heat,
)
from ensample.report.study.series import (
    along,
    assignments,
    at_last_horizon,
    evenly,
    grouped,
    join,
    lowest,
    numeric_axes,
    problems,
    split_axes,
    value_name,
)
from ensample.report.style import HEAT, HEAT_EDGES, LOOKS, set_log_ticks

FEWEST_PROBLEMS = 4  # of which a median and a worst are worth drawing
BOUND_LOOKS = [LOOKS[place]._replace(marker="o", dashes="-") for place in (0, 6, 8, 9)]
STRIPS, PULL_PANELS, COST_PANELS = 12, 6, 4
STEADY = ("horizon", "scale", "noise", "regularization")  # axes that change no round's cost


class Ratios(NamedTuple):
    """Mean regret of one policy with one choice of numbers, over the best in hindsight."""

    policy: str
    chosen: str  # its numbers in the words of the study's file; empty where there is no choice
    problems: list[str]
    ratios: list[float]  # on each problem

    @property
    def median(self) -> float:
        return float(np.median(self.ratios))

    @property
    def worst(self) -> float:
        return max(self.ratios)

    @property
    def where(self) -> str:
        """Problem of the worst ratio."""
        return self.problems[int(np.argmax(self.ratios))]


def hindsight(results: Results) -> list[Ratios]:
    """Return ratios of policies with and without numbers to choose; none where problems are few.

    Problems on which the best has no regret have no ratios and are left out.
    """
    words = choices(results.study)
    groups = problems(results)
    several = len({group[0].problem for group in groups}) > 1
    found: dict[tuple[str, str], Ratios] = {}
    for group in groups:
        tuned = [one for one in group if words[one.outcomes[0].cell.number]]
        if not tuned or len(tuned) == len(group) or not all(one.loses for one in tuned):
            continue
        best = min(one.level for one in tuned)
        for one in group:
            key = one.policy, words[one.outcomes[0].cell.number]
            known = found.setdefault(key, Ratios(*key, [], []))
            known.problems.append(one.title(several))
            known.ratios.append(one.level / best)
    most = max((len(one.ratios) for one in found.values()), default=0)
    return list(found.values()) if most >= FEWEST_PROBLEMS else []


def choices(study: Study) -> dict[int, str]:
    """Return what each cell's policy varies, as the file says it: "scale 2 noise"."""
    written = {}
    for table in study.policies:
        options = {key: given for key, given in table.items() if key not in ("label", "problems")}
        own = axes_of(options)
        written[str(table["label"])] = [
            ", ".join(f"{axis} {value_name(chosen[axis])}" for axis in own)
            for chosen in expand(options)
        ]

    def place(cell: Cell) -> tuple[object, ...]:
        return cell.policy, cell.problem, *split_axes(study, cell)[0].items()

    return {
        cell.number: text
        for cells in grouped(study.cells, place)
        for cell, text in zip(cells, written[cells[0].policy], strict=True)
    }


def hindsight_plate(found: list[Ratios]) -> Plate:
    """Draw policies without a choice, and each choice, from the median to the worst problem."""
    span = 0.8 * min(1.0, *(one.median for one in found)), 1.3 * max(one.worst for one in found)
    free = sorted((one for one in found if not one.chosen), key=lambda one: one.worst)
    rows = [DotRow(one.policy, [ratio_dot(one, 1)]) for one in free]
    tuned = []
    for many in grouped([one for one in found if one.chosen], lambda one: one.policy):
        first, last = many[0].chosen, many[-1].chosen
        span_words = first if len(many) == 1 else f"{first} to {last.split(' ', 1)[1]}"
        dots = [ratio_dot(one, 0) for one in many]
        tuned.append(DotRow(f"{many[0].policy}: {span_words}", dots))
    pictures = []
    for title, drawn in (("nothing to choose", rows), ("each choice of numbers", tuned)):
        picture = dot_picture(title, drawn, "regret over the best in hindsight")
        pictures.append(picture._replace(draw=partial(draw_ratios, dots=picture.draw, span=span)))
    count = max(len(one.ratios) for one in found)
    caption = (
        f"Of {count} problems: a dot is the median ratio, the bar ends at the worst. "
        "Logarithmic axes; choices grow downwards. "
        "The best in hindsight is the lowest of many noisy means, which flatters it."
    )
    return Plate("hindsight", "Regret over the best in hindsight", pictures, caption)


def ratio_dot(one: Ratios, look: int) -> Dot:
    return Dot(one.median, one.median, one.worst, LOOKS[look])


def draw_ratios(axes: Axes, dots: Callable[[Axes], None], span: tuple[float, float]) -> None:
    """Draw dots on logarithmic axes of this span, with a line at 1."""
    dots(axes)
    axes.axvline(1.0, color=RULE, linewidth=0.9, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(*span)
    set_log_ticks(axes.xaxis)


def bound_plate(results: Results, looks: Looks) -> Plate | None:
    """Draw mean and worst regret beside the theorem's bound; None without a theorem."""
    names = "mean regret", "worst run", "bound of the theorem", "2ST, true of anything"
    keys = [LegendKey(look, name, "dot") for name, look in zip(names, BOUND_LOOKS, strict=True)]
    bounds = {row["cell"]: row["bound"] for row in results.cells.to_dicts()}
    bounded = [each for each in results.outcomes if bounds[each.cell.number] is not None]
    pictures = []
    for group in grouped(bounded, lambda outcome: outcome.cell.policy):
        rows = [
            bound_row(outcome, bounds[outcome.cell.number], looks.several)
            for outcome in evenly(group, MOST_ROWS)
        ]
        pictures.append(dot_picture(group[0].cell.policy, rows, "regret", keys))
    return Plate("bounds", "Regret and its bound", pictures) if pictures else None


def bound_row(outcome: CellOutcome, bound: float, several: bool) -> DotRow:
    cell, regret = outcome.cell, outcome.regret[:, -1]
    setting = cell.recipe.setting
    assert setting is not None
    trivial = 2.0 * setting.norm * setting.horizon
    values = float(regret.mean()), float(regret.max()), bound, trivial
    pairs = zip(values, BOUND_LOOKS, strict=True)
    dots = [Dot(x, math.nan, math.nan, look) for x, look in pairs]
    name = join(cell.problem if several else "", assignments(dict(cell.axes)))
    return DotRow(name or cell.problem, dots, level=True)


def pull_plate(results: Results, looks: Looks) -> Plate | None:
    """Draw which arms were played; None where arms are not numbered."""
    labels = [f"below {numeral(100.0 * HEAT_EDGES[1])}%"]
    labels += [f"{numeral(100.0 * low)}% and more" for low in HEAT_EDGES[1:-1]]
    keys = [LegendKey(look, label, "field") for look, label in zip(HEAT, labels, strict=True)]
    pulled = [
        [one for one in group if one.outcomes[0].pulls is not None] for group in problems(results)
    ]
    pictures = []
    for group in evenly([group for group in pulled if group], PULL_PANELS):
        if len(group) > STRIPS:
            group = evenly(lowest(group, lambda one: one.identity), STRIPS)
        rows = []
        for one in group:
            pulls, rounds = one.outcomes[0].pulls, one.outcomes[0].cell.horizon
            rows.append((one.full_name, np.mean(pulls, axis=0) / rounds))  # type: ignore[arg-type]
        plot, height = partial(plot_heat, rows=rows), heat_inches(len(rows))
        pictures.append(Picture(looks.title(group), plot, keys, height=height))
    return Plate("pulls", "Share of the rounds by arm", pictures) if pictures else None


def cost_plates(results: Results, looks: Looks) -> list[Plate]:
    """Draw time a round against each axis of numbers that may change it; else of each policy."""
    has_times = not any(math.isnan(outcome.seconds_per_round) for outcome in results.outcomes)
    if len(results.outcomes) < 2 or not has_times:
        return []
    plates = []
    for axis in (axis for axis in numeric_axes(results) if axis not in STEADY):
        lines = at_last_horizon(along(results, axis))
        varying = [one for one in lines if axis in one.outcomes[0].cell.axes]
        panels = arrange(varying, looks, COST_PANELS).panels
        options: dict[str, Any] = {"axis": axis, "label": "µs a round", "measure": cost}
        pictures = [line_picture(panel, plot_against, **options) for panel in panels]
        plates.append(Plate(f"cost-{axis}", f"Time a round against {axis}", pictures))
    return plates or [cost_by_policy(results, looks)]


def cost_by_policy(results: Results, looks: Looks) -> Plate:
    pictures = []
    for group in evenly(problems(results), COST_PANELS):
        rows = []
        for same in grouped(group, lambda one: one.name):
            dots = [Dot(*cost(one.outcomes[0]), looks.of(one)) for one in same]
            rows.append(DotRow(same[0].name, dots))
        pictures.append(dot_picture(looks.title(group), rows, "µs a round"))
    return Plate("cost", "Time a round", pictures)
