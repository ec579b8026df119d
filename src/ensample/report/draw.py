"""One panel on the axes that it is given: curves, regret along an axis, dots with intervals, a heat map, bounds."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from ensample.lab.results import Outcome
from ensample.lab.statistics import CONFIDENCE, mean_interval, student_quantile
from ensample.report.arrange import Line
from ensample.report.style import BANDS, HEAT, INK, QUIET, RULE, Look
from ensample.report.words import value
from ensample.types import FloatArray

__all__ = ["FAR", "Dot", "Row", "against", "cost", "curves", "dots", "far", "final", "heat", "logarithmic"]

Measure = Callable[[Outcome], tuple[float, float, float]]  # (what to draw, low, high), NaN without an interval
POINTS = 80  # of a curve
FAR = 4.0  # times the median line's regret: would flatten a linear panel
SMALLEST = 1e-300


class Dot(NamedTuple):
    x: float
    low: float
    high: float
    look: Look


class Row(NamedTuple):
    label: str
    dots: list[Dot]
    level: bool = False  # all dots on one line


def final(outcome: Outcome) -> tuple[float, float, float]:
    """Mean final regret and its interval."""
    return mean_interval(outcome.regret[:, -1])


def cost(outcome: Outcome) -> tuple[float, float, float]:
    """Microseconds a round."""
    return 1e6 * outcome.seconds_per_round, math.nan, math.nan


def far(lines: list[Line]) -> list[Line]:
    """The lines that a linear panel leaves out."""
    limit = FAR * float(np.median([line.series.level for line in lines]))
    return [line for line in lines if line.series.level > limit]


def curves(axes: Axes, lines: list[Line], log: bool) -> None:
    """Mean regret over the rounds, with bands."""
    shown = lines if log else [line for line in lines if line not in far(lines)]
    for line in shown:
        outcome = line.series.outcomes[0]
        index = chosen(len(outcome.checkpoints), log)
        rounds, mean = np.array(outcome.checkpoints)[index], outcome.regret.mean(axis=0)[index]
        axes.plot(rounds, mean, color=line.look.colour, linestyle=line.look.dashes)
        if len(outcome.regret) > 1:
            half = half_width(outcome.regret)[index]
            low = np.maximum(mean - half, 0.3 * mean) if log else mean - half
            axes.fill_between(rounds, low, mean + half, color=line.look.colour, alpha=0.14, linewidth=0)
    finish_curves(axes, shown, log and any(line.series.level > SMALLEST for line in shown))


def finish_curves(axes: Axes, shown: list[Line], log: bool) -> None:
    axes.set(xlabel="round", ylabel="regret")
    horizon = max(line.series.outcomes[0].cell.horizon for line in shown)
    if log:
        axes.set(xscale="log", yscale="log")
        square_root(axes, shown, horizon)
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
    else:
        axes.set(xlim=(0, horizon), ylim=(0, None))
        axes.locator_params(nbins=5)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def square_root(axes: Axes, shown: list[Line], horizon: int) -> None:
    """A line of slope one half, the rate that the theorems prove, below the curves."""
    marks = np.array(shown[0].series.outcomes[0].checkpoints, float)[[0, -1]]
    ratios = [one.regret.mean(axis=0) / np.sqrt(one.checkpoints) for line in shown for one in line.series.outcomes]
    lowest = min(float(ratio.min()) for ratio in ratios)
    if lowest <= 0.0 or marks[0] == marks[1]:
        return  # no room below on logarithmic axes, or nothing to span
    heights = 0.75 * lowest * np.sqrt(marks)
    axes.plot(marks, heights, color=QUIET, linewidth=0.9, linestyle=(0, (1, 1.5)))
    axes.annotate("∝ √T", (marks[1], heights[1]), (0, -3), textcoords="offset points", va="top", ha="right", color=QUIET)


def chosen(count: int, log: bool) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Which checkpoints to draw; the last always."""
    spaced = np.geomspace(1, count, POINTS) if log else np.linspace(1, count, min(count, POINTS))
    return np.unique(spaced.round().astype(np.int64)) - 1


def half_width(regret: FloatArray) -> FloatArray:
    """Of the 95% interval of the mean, at each checkpoint."""
    runs = len(regret)
    quantile = student_quantile(0.5 + CONFIDENCE / 2.0, runs - 1)
    return np.asarray(quantile * regret.std(axis=0, ddof=1) / math.sqrt(runs))


def against(axes: Axes, lines: list[Line], name: str, label: str, measure: Measure) -> None:
    """A measure along an axis of numbers, on logarithmic axes; policies without the axis as level lines."""
    heights: list[float] = []
    values: set[float] = set()
    for line in lines:
        points = [measure(outcome) for outcome in line.series.outcomes]
        if min(point[0] for point in points) <= 0.0:
            continue  # there is no logarithm of it
        heights += [point[0] for point in points]
        if name not in line.series.outcomes[0].cell.axes:
            axes.axhline(points[0][0], color=line.look.colour, linestyle=(0, (1, 1.2)), linewidth=1.2)
            continue
        x = [float(outcome.cell.axes[name]) for outcome in line.series.outcomes]
        values.update(x)
        joined(axes, line.look, x, points)
    axes.set(xscale="log", yscale="log", xlabel=name, ylabel=label)
    ticks_at(axes.xaxis, sorted(values))
    if heights:
        axes.set_ylim(min(heights) / 1.5, max(heights) * 1.5)
    logarithmic(axes.yaxis)


def joined(axes: Axes, look: Look, x: list[float], points: Sequence[tuple[float, float, float]]) -> None:
    mean, low, high = (np.array(column) for column in zip(*points, strict=True))
    axes.plot(x, mean, color=look.colour, linestyle=look.dashes, marker=look.marker, markersize=3.5)
    if not np.isnan(low).any():
        axes.vlines(x, np.maximum(low, 1e-3 * mean), high, color=look.colour, linewidth=1.1)


def logarithmic(axis: Axis) -> None:
    """Ticks as plain numbers, as many as there is room for."""
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if low > 0.0 else 9.0
    subs = (1.0, 2.0, 5.0) if decades < 2.0 else (1.0, 3.0) if decades < 3.0 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}" if 1e-3 <= x < 1e6 else f"{x:.0e}".replace("e+0", "e")))
    axis.set_minor_formatter(NullFormatter())


def ticks_at(axis: Axis, values: list[float], apart: float = 0.11) -> None:
    """Ticks at the values of the axis that are far enough from each other to read."""
    if not values:
        return
    span = math.log(values[-1] / values[0]) or 1.0
    kept: list[float] = []
    for x in values:
        if not kept or math.log(x / kept[-1]) / span >= apart:
            kept.append(x)
    axis.set_ticks(kept, [value(int(x) if x == int(x) else x) for x in kept])
    axis.set_minor_locator(NullLocator())


def dots(axes: Axes, rows: list[Row], label: str) -> None:
    """Dots with intervals; the name of a row stands above it, so that long names cost no width."""
    everything = [dot for row in rows for dot in row.dots]
    log = min(dot.x for dot in everything) > 0.0 and max(dot.x for dot in everything) > 20.0 * min(dot.x for dot in everything)
    axes.set_xscale("log" if log else "linear")
    for place, row in enumerate(rows):
        for at, dot in zip(spread(place, row), row.dots, strict=True):
            if not math.isnan(dot.low):
                low = max(dot.low, 0.05 * dot.x) if log else dot.low
                axes.hlines(at, low, dot.high, color=dot.look.colour, linewidth=1.6)
            axes.plot(dot.x, at, dot.look.marker, color=dot.look.colour, markersize=3.8)
    named_rows(axes, [row.label for row in rows])
    axes.set_xlabel(label)
    if log:
        logarithmic(axes.xaxis)
    else:
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), None)
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def spread(place: int, row: Row) -> FloatArray:
    """Where the dots of a row are: below its name, one below the other unless they belong on one line."""
    count = len(row.dots)
    return place + (np.full(count, 0.22) if row.level or count == 1 else np.linspace(0.0, 0.5, count))


def named_rows(axes: Axes, labels: list[str]) -> None:
    """The first row on top, each with its name above it and a thin line between."""
    axes.set_ylim(len(labels) - 0.25, -0.45)
    axes.yaxis.set_visible(False)
    axes.spines.left.set_visible(False)
    for place, label in enumerate(labels):
        axes.text(0.0, place - 0.14, label, transform=axes.get_yaxis_transform(), va="bottom", fontsize=8.0, color=INK)
        if place:
            axes.axhline(place - 0.42, color=RULE, linewidth=0.5)


def heat(axes: Axes, rows: list[tuple[str, FloatArray]]) -> None:
    """The share of the rounds that each arm got, the best arm on the left; many arms share a field."""
    edges = fields(len(rows[0][1]))
    for place, (_, shares) in enumerate(rows):
        means = [float(shares[first:last].mean()) for first, last in zip(edges[:-1], edges[1:], strict=True)]
        axes.pcolormesh(
            np.arange(len(edges)),
            [place, place + 0.5],
            [means],
            cmap=ListedColormap([look.colour for look in HEAT]),
            norm=BoundaryNorm(BANDS, len(HEAT)),
            edgecolors=RULE,
            linewidth=0.3,
        )
    named_rows(axes, [label for label, _ in rows])
    step = max(1, (len(edges) - 1) // 8)
    ticks = list(range(0, len(edges) - 1, step))
    axes.set_xticks([tick + 0.5 for tick in ticks], [named_field(edges, tick) for tick in ticks])
    axes.set_xlabel("arm by its mean, the best first")
    axes.tick_params(axis="x", length=0)
    axes.spines.bottom.set_visible(False)


def fields(arms: int, single: int = 20, most: int = 32) -> list[int]:
    """Edges of the fields: each of the first arms alone, the others in ever larger groups."""
    if arms <= most:
        return list(range(arms + 1))
    tail = np.geomspace(single, arms, most - single + 1).round().astype(int).tolist()
    return sorted({*range(single), *tail})


def named_field(edges: list[int], place: int) -> str:
    first, last = edges[place] + 1, edges[place + 1]
    return f"{first:,}" if first == last else f"{first:,}+"
