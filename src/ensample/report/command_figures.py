"""Figures of `ensample demo` and `ensample plan`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.evaluation import Estimate
from ensample.numerals import numeral
from ensample.palette import INK, QUIET
from ensample.report.style import (
    LOOKS,
    OFFSET,
    REFERENCE,
    SMALL,
    house_style,
    set_log_ticks,
    set_plain_ticks,
)
from ensample.theory import Tradeoff
from ensample.types import FloatArray

WINDOW = 100  # decisions of a moving mean
BESIDE = OFFSET | {"fontsize": 8.0}
SMALL_BESIDE = OFFSET | SMALL


class DemoRow(NamedTuple):
    """An evaluated policy."""

    label: str
    estimate: Estimate
    truth: float


def draw_demo(right: FloatArray, chance: float, rows: Sequence[DemoRow], title: str) -> Figure:
    """Draw the share of right decisions (left), and estimates beside the truth (right)."""
    with house_style():
        figure = Figure(figsize=(7.6, 2.9), layout="constrained")
        left, beside = figure.subplots(1, 2)
        plot_moving_mean(left, right, chance)
        plot_estimates(beside, rows)
        figure.suptitle(title, x=0.01, ha="left", **SMALL)
    return figure


def plot_moving_mean(axes: Axes, right: FloatArray, chance: float) -> None:
    width = min(WINDOW, right.size)
    means = np.convolve(right, np.full(width, 1.0 / width), mode="valid")
    axes.plot(np.arange(width, right.size + 1), means, color=LOOKS[0].colour)
    axes.axhline(chance, **REFERENCE)
    at = OFFSET | {"ha": "right", "color": QUIET}
    axes.annotate("by chance", (1.0, chance), (-2, 3), ("axes fraction", "data"), **at)
    limits = {"xlim": (0, right.size), "ylim": (0, 1)}
    axes.set(xlabel="decisions", ylabel=f"right, of the last {width}", **limits)
    set_plain_ticks(axes.xaxis, axes.yaxis)


def plot_estimates(axes: Axes, rows: Sequence[DemoRow]) -> None:
    places = np.arange(len(rows))[::-1]
    values, truths = [row.estimate.value for row in rows], [row.truth for row in rows]
    low, high = [row.estimate.low for row in rows], [row.estimate.high for row in rows]
    axes.hlines(places, low, high, color=LOOKS[0].colour, linewidth=2.0)
    axes.plot(values, places, "o", color=LOOKS[0].colour, markersize=5, label="estimate, 95%")
    axes.plot(truths, places - 0.15, "^", color=LOOKS[1].colour, markersize=5, label="truth")
    for place, row in zip(places, rows, strict=True):
        at = OFFSET | {"fontsize": 8.0, "color": INK}
        axes.annotate(row.label, (0.0, place), (2, 9), **at)
    limits = {"xlim": (-0.02, 1.02), "ylim": (-0.5, len(rows) - 0.35)}
    axes.set(xlabel="right, by the log alone", **limits)
    axes.yaxis.set_visible(False)
    axes.spines.left.set_visible(False)
    set_plain_ticks(axes.xaxis)
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2}
    axes.legend(**above, fontsize=7.5, borderaxespad=0.0)


def draw_plan(rows: Sequence[Tradeoff], paper: Tradeoff, title: str) -> Figure:
    """Draw the frontier, its point with Theorem 1's share, and Theorem 1 itself."""
    with house_style():
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.subplots()
        sizes, bounds, colour = [row.size for row in rows], [row.bound for row in rows], LOOKS[0]
        axes.plot(sizes, bounds, "o-", color=colour.colour, markersize=3.0)
        axes.plot(paper.size, paper.bound, "D", color=LOOKS[1].colour, markersize=5.5)
        axes.set(xscale="log", yscale="log", xlabel="members", ylabel="bound on the regret")
        set_log_ticks(axes.xaxis, axes.yaxis)
        name = f"Theorem 1: {numeral(paper.size)}"
        axes.annotate(name, (paper.size, paper.bound), (0, 7), ha="center", **BESIDE)
        first, last = rows[0], rows[-1]
        for row, offset, side in ((first, (7, 0), "left"), (last, (-2, 6), "right")):
            share = f"share {row.share:.3g}"
            axes.annotate(share, (row.size, row.bound), offset, ha=side, **SMALL_BESIDE)
        for row in rows:
            if row.share == paper.share:
                axes.plot(row.size, row.bound, "o", color=colour.colour, markersize=6.5)
                name = f"the same share: {numeral(row.size)}"
                axes.annotate(name, (row.size, row.bound), (8, 1), ha="left", **BESIDE)
        figure.suptitle(title, x=0.01, ha="left", **SMALL)
    return figure
