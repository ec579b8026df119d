"""The figure of a race: regret over the rounds, on linear and on logarithmic axes."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from ensample.report.drawing.files import save
from ensample.report.drawing.style import house_style
from ensample.simulation import Runs
from ensample.types import IntArray

__all__ = ["draw", "save"]

# (colour, dashes): told apart by colour-blind readers, and in grey by lightness and dashes.
LOOKS: tuple[tuple[str, Any], ...] = (
    ("#7FBFE5", "-"),
    ("#2F7FBF", "-"),
    ("#1B2F73", "-"),
    ("#B0419B", "-"),
    ("#000000", (0, (5, 1.5))),
    ("#117733", "-"),
    ("#E69F00", (0, (3, 1))),
    ("#D55E00", "-"),
    ("#8C8C8C", (0, (5, 1.5))),
    ("#44AA99", "-"),
)
QUIET = "0.35"
SMALL: dict[str, Any] = {"color": QUIET, "fontsize": 7.5}
FAR = 4.0
"""A policy with this many times the median policy's regret would flatten the linear panel, so it is left to the other."""


class Line(NamedTuple):
    """A policy as it is drawn."""

    label: str
    runs: Runs
    colour: str
    dashes: Any

    @property
    def final(self) -> float:
        return float(self.runs.mean[-1])


def draw(results: dict[str, Runs], title: str) -> Figure:
    """Regret over the rounds: policies of comparable regret on linear axes (left), all on logarithmic ones (right)."""
    with house_style():
        lines = [Line(*item, *LOOKS[place % len(LOOKS)]) for place, item in enumerate(results.items())]
        lines.sort(key=lambda line: -line.final)  # the legend reads as the curves end: the highest on top
        figure = Figure(figsize=(7.4, 3.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        limit = FAR * float(np.median([line.final for line in lines]))
        near = [line for line in lines if line.final <= limit]
        linear_panel(left, near)
        logarithmic_panel(right, lines)
        figure.align_xlabels()
        figure.legend(*right.get_legend_handles_labels(), loc="outside right upper", title="mean regret at the end")
        figure.supxlabel(notes([line.label for line in lines if line not in near]), x=0.01, ha="left", **SMALL)
        figure.suptitle(title, x=0.01, ha="left", **SMALL)
    return figure


def notes(left_out: list[str]) -> str:
    """What the panels show."""
    said = "Bands: mean ± 2 standard errors. Bars: 10th to 90th percentile of the final regret."
    return f"{said} Left panel without {' and '.join(left_out)}." if left_out else said


def linear_panel(axes: Axes, shown: list[Line]) -> None:
    """Means with bands and, beside the last round, the spread of the runs."""
    horizon = shown[0].runs.horizon
    for place, line in enumerate(shown, start=1):
        runs, index = line.runs, np.arange(line.runs.checkpoints.size)[::-5][::-1]
        plot(axes, line, index)
        error = 2.0 * runs.standard_error[index]
        bounds = runs.mean[index] - error, runs.mean[index] + error
        axes.fill_between(runs.checkpoints[index], *bounds, color=line.colour, alpha=0.15, linewidth=0)
        beside = horizon * (1.0 + 0.025 * place)
        axes.vlines(beside, runs.quantile(0.1)[-1], runs.quantile(0.9)[-1], color=line.colour, linewidth=1.2)
        axes.plot(beside, line.final, "o", color=line.colour, markersize=2.5)
    top = 1.3 * shown[0].final or 1.0  # a bar may leave the panel, a mean does not
    axes.set(xlabel="round", ylabel="regret", xlim=(0, horizon * (1.02 + 0.025 * len(shown))), ylim=(0, top))
    axes.spines.bottom.set_bounds(0, horizon)
    axes.set_xticks(np.linspace(0, horizon, 5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def logarithmic_panel(axes: Axes, lines: list[Line]) -> None:
    for line in lines:
        last = line.runs.checkpoints.size
        plot(axes, line, np.unique(np.geomspace(1, last, 120).round().astype(np.int64)) - 1)
    axes.set(xlabel="round", ylabel="regret", xscale="log")
    if lines[0].final > 0.0:  # else nothing to take logarithms of
        axes.set_yscale("log")
        guide(axes, lines)


def guide(axes: Axes, lines: list[Line]) -> None:
    """A line of slope one half, the rate that the theorems prove, below the curves."""
    rounds = lines[0].runs.checkpoints[[0, -1]].astype(float)
    lowest = min(float(np.min(line.runs.mean / np.sqrt(line.runs.checkpoints))) for line in lines)
    if lowest <= 0.0:
        return  # logarithmic axes have no room below
    heights = 0.8 * lowest * np.sqrt(rounds)
    axes.plot(rounds, heights, color=QUIET, linewidth=0.9, linestyle=(0, (1, 1.5)))
    middle = float(np.sqrt(rounds.prod())), float(np.sqrt(heights.prod()))
    axes.annotate(r"$\propto\sqrt{T}$", middle, (4, -3), textcoords="offset points", va="top", color=QUIET)


def plot(axes: Axes, line: Line, index: IntArray) -> None:
    """The mean at some checkpoints."""
    label = f"{line.label}  ({line.final:,.0f})"
    axes.plot(line.runs.checkpoints[index], line.runs.mean[index], color=line.colour, linestyle=line.dashes, label=label)
