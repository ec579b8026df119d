"""The runs of one policy: regret over the rounds."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex
from matplotlib.figure import Figure

from ensample.checks import instance
from ensample.errors import InvalidArgument
from ensample.markup import typed
from ensample.numerals import numeral
from ensample.report.drawing.axes import tick_numeral
from ensample.report.drawing.shown import ShownFigure
from ensample.report.drawing.style import LOOKS, house_style
from ensample.simulation import Runs

SINGLE = 50  # runs that are drawn one by one
BAND = "10th to 90th percentile"


def plot_runs(runs: Runs, axes: Axes | None, label: str | None, color: Any) -> Figure:
    """Some runs, faint; all of them as a band; their mean."""
    instance("axes", axes, Axes | None, "axes of matplotlib, or None")
    instance("label", label, str | None, "text, or None")
    if color is not None and not is_color_like(color):
        raise InvalidArgument(
            "color", color, "a colour of matplotlib, such as 'black' or '#c75b00'"
        )
    with house_style():
        if axes is not None:
            draw_on(axes, runs, label, color)
            return axes.get_figure(root=True)  # type: ignore[return-value]
        figure = ShownFigure(figsize=(5.2, 3.2), layout="constrained")
        draw_on(figure.subplots(), runs, label, color)
        figure.legend(loc="outside upper left", fontsize=8.0)
        return figure


def draw_on(axes: Axes, runs: Runs, label: str | None, color: Any) -> None:
    rounds, mean = np.append(0, runs.checkpoints), np.append(0.0, runs.mean)
    some = runs.regret[:SINGLE]
    last = max(float(runs.horizon), axes.get_xlim()[1] if axes.lines else 0.0)
    color = next_colour(axes) if color is None else color
    if len(some) > 1:
        each = np.column_stack([np.zeros(len(some)), some])
        axes.plot(rounds, each.T, color=color, alpha=0.25, linewidth=0.5)
        low, high = (np.append(0.0, runs.quantile(q)) for q in (0.1, 0.9))
        said = (
            "" if BAND in axes.get_legend_handles_labels()[1] else BAND
        )  # once, whatever the number of recipes
        axes.fill_between(rounds, low, high, color=color, alpha=0.15, linewidth=0, label=said)
    axes.plot(
        rounds,
        mean,
        color=color,
        linewidth=1.8,
        label=usual_label(runs) if label is None else label,
    )
    axes.set(xlabel="round", ylabel="regret")
    axes.set_xlim(0, last, auto=None)
    axes.set_ylim(0, auto=None)  # which goes on growing with what is drawn beside it
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_numeral)


def usual_label(runs: Runs) -> str:
    """The recipe, and where its mean ends."""
    of = f", mean of {len(runs.regret):,} runs" if len(runs.regret) > 1 else ""
    return f"{typed(runs.recipe)}: {numeral(float(runs.mean[-1]))}{of}"


def next_colour(axes: Axes) -> str:
    """Of ours the first that no line has, beginning after as many as there are."""
    used = {to_hex(line.get_color()) for line in axes.lines}
    colours = [look.colour for look in LOOKS]
    start = len(used) % len(colours)
    order = colours[start:] + colours[:start]
    return next((colour for colour in order if colour not in used), order[0])
