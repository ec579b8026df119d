"""How far policies without numbers to choose are from the best that have some, chosen on each problem in hindsight."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ensample.lab.cell import Cell
from ensample.lab.grid import axes_of, expand
from ensample.lab.results import Results
from ensample.lab.study import Study
from ensample.report.drawing.axes import logarithmic
from ensample.report.drawing.style import LOOKS, RULE
from ensample.report.study.figures.arrange import evenly
from ensample.report.study.figures.plates import Picture, Plate
from ensample.report.study.figures.rows import MOST_ROWS, Dot, DotRow, dots, inches
from ensample.report.study.figures.series import Series, at_last_horizon, scenarios, singles, split
from ensample.report.study.words import value

FEWEST = 4  # problems of which a median and a worst are worth drawing


class Ratios(NamedTuple):
    """Of one policy with one choice of its numbers: its mean regret over the best in hindsight, on each problem."""

    policy: str
    chosen: (
        str  # its numbers in the words of the study's file; empty where there are none to choose
    )
    problems: list[str]
    ratios: list[float]

    @property
    def median(self) -> float:
        return float(np.median(self.ratios))

    @property
    def worst(self) -> float:
        return max(self.ratios)

    @property
    def where(self) -> str:
        """The problem of the worst."""
        return self.problems[int(np.argmax(self.ratios))]


def hindsight(results: Results) -> list[Ratios]:
    """Policies in the order of the study; none where nothing, or everything, has numbers to choose, or problems are few.

    Problems on which the best has no regret have no ratios and are left out.
    """
    words = choices(results.study)
    groups = list(scenarios(at_last_horizon(singles(results))).values())
    several = len({group[0].problem for group in groups}) > 1
    found: dict[tuple[str, str], Ratios] = {}
    for group in groups:
        tuned = [one for one in group if words[number_of(one)]]
        if not tuned or len(tuned) == len(group) or not all(one.loses for one in tuned):
            continue
        best = min(one.level for one in tuned)
        for one in group:
            key = one.policy, words[number_of(one)]
            known = found.setdefault(key, Ratios(*key, [], []))
            known.problems.append(one.title(several))
            known.ratios.append(one.level / best)
    enough = max((len(one.ratios) for one in found.values()), default=0) >= FEWEST
    return list(found.values()) if enough else []


def number_of(one: Series) -> int:
    return one.outcomes[0].cell.number


def choices(study: Study) -> dict[int, str]:
    """What each cell's policy varies, as the file has it: "scale 2 noise" is another number on each problem."""
    written = {}
    for table in study.policies:
        options = {key: given for key, given in table.items() if key not in ("label", "problems")}
        own = axes_of(options)
        written[str(table["label"])] = [
            ", ".join(f"{axis} {value(chosen[axis])}" for axis in own) for chosen in expand(options)
        ]
    met: dict[tuple[object, ...], list[Cell]] = {}
    for cell in study.cells:
        met.setdefault((cell.policy, cell.problem, *split(study, cell)[0].items()), []).append(cell)
    return {
        cell.number: text
        for (policy, *_), cells in met.items()
        for cell, text in zip(cells, written[str(policy)], strict=True)
    }


def hindsight_plate(found: list[Ratios]) -> Plate:
    """Two panels on one scale: what needs no choice, and what is told; from the median to the worst problem."""
    span = 0.8 * min(1.0, *(one.median for one in found)), 1.3 * max(one.worst for one in found)
    free = sorted((one for one in found if not one.chosen), key=lambda one: one.worst)
    rows = [DotRow(one.policy, [dot(one, 1)]) for one in free]
    told: dict[str, list[Ratios]] = {}
    for one in found:
        if one.chosen:
            told.setdefault(one.policy, []).append(one)
    named = [
        DotRow(f"{policy}: {spans(many)}", [dot(one, 0) for one in many])
        for policy, many in told.items()
    ]
    pictures = [
        picture("nothing to choose", evenly(rows, MOST_ROWS), span),
        picture("each choice of numbers", evenly(named, MOST_ROWS), span),
    ]
    count = max(len(one.ratios) for one in found)
    caption = (
        f"Of {count} problems: a dot is the median ratio, the bar ends at the worst. Logarithmic axes; choices grow downwards. "
        "The best in hindsight is the lowest of many noisy means, which flatters it."
    )
    return Plate("hindsight", "Regret over the best in hindsight", pictures, caption=caption)


def dot(one: Ratios, look: int) -> Dot:
    return Dot(one.median, one.median, one.worst, LOOKS[look])


def spans(many: list[Ratios]) -> str:
    """From the first choice to the last."""
    return (
        many[0].chosen
        if len(many) == 1
        else f"{many[0].chosen} to {many[-1].chosen.split(' ', 1)[1]}"
    )


def picture(title: str, rows: list[DotRow], span: tuple[float, float]) -> Picture:
    return Picture(
        title, lambda axes: ratio_dots(axes, rows, span), height=inches([row.depth for row in rows])
    )


def ratio_dots(axes: Axes, rows: list[DotRow], span: tuple[float, float]) -> None:
    """Dots on logarithmic axes of this span, with a line at 1."""
    dots(axes, rows, "regret over the best in hindsight")
    axes.axvline(1.0, color=RULE, linewidth=0.9, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(*span)
    logarithmic(axes.xaxis)
