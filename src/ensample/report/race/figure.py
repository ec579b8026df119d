"""The figure of a race: regret over the rounds, on linear and on logarithmic axes."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.numerals import numeral
from ensample.report.drawing.axes import logarithmic, square_root, tick_numeral
from ensample.report.drawing.files import save
from ensample.report.drawing.style import LOOKS, QUIET, LineStyle, house_style
from ensample.simulation import Runs
from ensample.types import IntArray

__all__ = ["draw", "save"]

ROW = 0.18  # inches of a line of the legend
SMALL: dict[str, Any] = {"color": QUIET, "fontsize": 7.5}
FAR = 4.0
"""A policy with this many times the median policy's regret would flatten the linear panel, so it is left to the other."""
TALL = 1.5  # a bar of more than this many times the highest mean would flatten it too, so it is cut, and says so
MANY = 10_000  # rounds whose numbers would touch if there were five of them below a panel
LONG = 24  # letters of a name that would leave the panels no room beside it: names go above them


class Racer(NamedTuple):
    """A policy as it is drawn."""

    label: str
    runs: Runs
    look: LineStyle

    @property
    def final(self) -> float:
        return float(self.runs.mean[-1])


def draw(results: dict[str, Runs], title: str) -> Figure:
    """Regret over the rounds: policies of comparable regret on linear axes (left), all on logarithmic ones (right)."""
    with house_style():
        lines = [
            Racer(*item, LOOKS[place % len(LOOKS)]) for place, item in enumerate(results.items())
        ]
        lines.sort(
            key=lambda line: -line.final
        )  # the legend reads as the curves end: the highest on top
        above = max(len(line.label) for line in lines) > LONG
        figure = Figure(figsize=(7.6, 3.0 + ROW * (len(lines) + 1) * above), layout="constrained")
        heading = "mean regret at the end"
        if above:
            heading = f"{title}\n{heading}"
        else:
            figure.suptitle(title, x=0.01, ha="left", **SMALL)
        left, right = figure.subplots(1, 2)
        limit = FAR * float(np.median([line.final for line in lines]))
        near = [line for line in lines if line.final <= limit]
        cut = linear_panel(left, near)
        logarithmic_panel(right, lines)
        figure.align_xlabels()
        handles, labels = right.get_legend_handles_labels()
        loc: Any = "outside upper left" if above else "outside right upper"
        figure.legend(handles, labels, loc=loc, title=heading, alignment="left")
        figure.supxlabel(
            notes([line.label for line in lines if line not in near], cut),
            x=0.01,
            ha="left",
            **SMALL,
        )
    return figure


def notes(left_out: list[str], cut: bool) -> str:
    """What the panels show."""
    said = "Bands: mean ± 2 standard errors. Bars: 10th to 90th percentile of the final regret."
    said += " A bar with ▲ goes on above." * cut
    return f"{said}\nLeft panel without {' and '.join(left_out)}." if left_out else said


def linear_panel(axes: Axes, shown: list[Racer]) -> bool:
    """Means with bands and, beside the last round, the spread of the runs; whether a bar is cut."""
    horizon = shown[0].runs.horizon
    highest = max(float(line.runs.quantile(0.9)[-1]) for line in shown)
    top = 1.05 * min(max(highest, shown[0].final), TALL * shown[0].final) or 1.0
    for place, line in enumerate(shown, start=1):
        runs, index = line.runs, np.arange(line.runs.checkpoints.size)[::-5][::-1]
        plot(axes, line, index)
        error = 2.0 * runs.standard_error[index]
        bounds = runs.mean[index] - error, runs.mean[index] + error
        axes.fill_between(
            runs.checkpoints[index], *bounds, color=line.look.colour, alpha=0.15, linewidth=0
        )
        beside = horizon * (1.0 + 0.025 * place)
        axes.vlines(
            beside,
            runs.quantile(0.1)[-1],
            runs.quantile(0.9)[-1],
            color=line.look.colour,
            linewidth=1.2,
        )
        axes.plot(beside, line.final, "o", color=line.look.colour, markersize=2.5)
        if runs.quantile(0.9)[-1] > top:
            axes.plot(beside, top, "^", color=line.look.colour, markersize=4.0, clip_on=False)
    axes.set(
        xlabel="round",
        ylabel="regret",
        xlim=(0, horizon * (1.02 + 0.025 * len(shown))),
        ylim=(0, top),
    )
    axes.spines.bottom.set_bounds(0, horizon)
    axes.set_xticks(np.linspace(0, horizon, 5 if horizon < MANY else 3))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_numeral)
    return highest > top


def logarithmic_panel(axes: Axes, lines: list[Racer]) -> None:
    for line in lines:
        last = line.runs.checkpoints.size
        plot(axes, line, np.unique(np.geomspace(1, last, 120).round().astype(np.int64)) - 1)
    axes.set(xlabel="round", ylabel="regret", xscale="log")
    if lines[0].final > 0.0:  # else nothing to take logarithms of
        axes.set_yscale("log")
        checkpoints = lines[0].runs.checkpoints
        lowest = min(float(np.min(line.runs.mean / np.sqrt(checkpoints))) for line in lines)
        square_root(axes, checkpoints[0], checkpoints[-1], lowest)
        logarithmic(axes.yaxis)
    logarithmic(axes.xaxis)


def plot(axes: Axes, line: Racer, index: IntArray) -> None:
    """The mean at some checkpoints."""
    label = f"{line.label}  ({numeral(line.final)})"
    rounds, mean = line.runs.checkpoints[index], line.runs.mean[index]
    look = {"color": line.look.colour, "linestyle": line.look.dashes, "zorder": line.look.above}
    axes.plot(rounds, mean, label=label, **look)
