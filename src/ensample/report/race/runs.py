"""The runs of one policy: regret over the rounds."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.checks import instance
from ensample.numerals import numeral
from ensample.report.drawing.axes import tick_numeral
from ensample.report.drawing.shown import ShownFigure
from ensample.report.drawing.style import LOOKS, house_style
from ensample.simulation import Runs

__all__ = ["plot_runs"]

SINGLE = 50  # runs that are drawn one by one
LOOK = LOOKS[0]


def plot_runs(runs: Runs, axes: Axes | None) -> Figure:
    """Some runs, faint; all of them as a band; their mean."""
    instance("axes", axes, Axes | None, "axes of matplotlib, or None")
    with house_style():
        if axes is not None:
            draw_on(axes, runs)
            return axes.get_figure(root=True)  # type: ignore[return-value]
        figure = ShownFigure(figsize=(5.2, 3.2), layout="constrained")
        draw_on(figure.subplots(), runs)
        figure.legend(loc="outside upper left", ncols=3, fontsize=8.0)
        return figure


def draw_on(axes: Axes, runs: Runs) -> None:
    rounds, mean = np.append(0, runs.checkpoints), np.append(0.0, runs.mean)
    some = runs.regret[:SINGLE]
    if len(some) > 1:
        each = np.column_stack([np.zeros(len(some)), some])
        axes.plot(rounds, each.T, color=LOOK.colour, alpha=0.25, linewidth=0.5)
        low, high = (np.append(0.0, runs.quantile(q)) for q in (0.1, 0.9))
        axes.fill_between(rounds, low, high, color=LOOK.colour, alpha=0.15, linewidth=0, label="10th to 90th percentile")
    said = f"mean of {len(runs.regret):,} runs: {numeral(float(mean[-1]))}" if len(some) > 1 else numeral(float(mean[-1]))
    axes.plot(rounds, mean, color=LOOK.colour, linewidth=1.8, label=said)
    axes.set(xlabel="round", ylabel="regret", xlim=(0, runs.horizon), ylim=(0, None))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(tick_numeral)
