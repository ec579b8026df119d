"""What an experiment learned over time, and what its log says of other policies beside the truth."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.evaluation import Estimate
from ensample.report.drawing.axes import tick_numeral
from ensample.report.drawing.files import save
from ensample.report.drawing.style import INK, LOOKS, QUIET, house_style
from ensample.types import FloatArray

__all__ = ["DemoRow", "draw", "save"]

SMALL: dict[str, Any] = {"color": QUIET, "fontsize": 7.5}
WINDOW = 100  # decisions of a moving mean


class DemoRow(NamedTuple):
    """A policy that was judged."""

    label: str
    estimate: Estimate
    truth: float


def draw(right: FloatArray, chance: float, rows: Sequence[DemoRow], title: str) -> Figure:
    """Left: the share of right decisions. Right: estimates from the log, with their intervals, and the truth."""
    with house_style():
        figure = Figure(figsize=(7.6, 2.9), layout="constrained")
        left, beside = figure.subplots(1, 2)
        learning_panel(left, right, chance)
        judged_panel(beside, rows)
        figure.suptitle(title, x=0.01, ha="left", **SMALL)
    return figure


def learning_panel(axes: Axes, right: FloatArray, chance: float) -> None:
    width = min(WINDOW, right.size)
    sums = np.concatenate([[0.0], np.cumsum(right)])
    ends = np.arange(width, right.size + 1)
    axes.plot(ends, (sums[ends] - sums[ends - width]) / width, color=LOOKS[0].colour)
    axes.axhline(chance, color=QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
    axes.annotate(
        "by chance",
        (1.0, chance),
        (-2, 3),
        ("axes fraction", "data"),
        "offset points",
        ha="right",
        color=QUIET,
    )
    axes.set(
        xlabel="decisions", ylabel=f"right, of the last {width}", ylim=(0, 1), xlim=(0, right.size)
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_numeral)


def judged_panel(axes: Axes, rows: Sequence[DemoRow]) -> None:
    for place, row in enumerate(reversed(rows)):
        estimate, look = row.estimate, LOOKS[0]
        axes.hlines(place, estimate.low, estimate.high, color=look.colour, linewidth=2.0)
        axes.plot(
            estimate.value,
            place,
            "o",
            color=look.colour,
            markersize=5,
            label="estimate, 95%" if not place else None,
        )
        axes.plot(
            row.truth,
            place - 0.15,
            "^",
            color=LOOKS[1].colour,
            markersize=5,
            label="truth" if not place else None,
        )
        axes.annotate(
            row.label, (0.0, place), (2, 9), textcoords="offset points", fontsize=8.0, color=INK
        )
    axes.set(xlabel="right, by the log alone", xlim=(-0.02, 1.02), ylim=(-0.5, len(rows) - 0.35))
    axes.yaxis.set_visible(False)
    axes.spines.left.set_visible(False)
    axes.xaxis.set_major_formatter(tick_numeral)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=7.5, borderaxespad=0.0
    )
