"""A panel of lines on the axes that it is given: regret over the rounds, a measure along an axis of numbers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import NullLocator

from ensample.lab.analysis import mean_interval
from ensample.lab.results import CellOutcome
from ensample.report.drawing.axes import logarithmic, square_root, tick_numeral
from ensample.report.drawing.marks import BAND, mark
from ensample.report.study.figures.arrange import Line
from ensample.report.study.words import value
from ensample.statistics import half_width
from ensample.types import FloatArray

Reading = tuple[float, float, float]  # (what to draw, low, high), NaN without an interval
Measure = Callable[[CellOutcome], Reading]
POINTS = 80  # of a curve
FAR = 4.0  # times the regret of the better third of the lines: would flatten a linear panel


def final(outcome: CellOutcome) -> Reading:
    """Mean final regret and its interval."""
    return mean_interval(outcome.regret[:, -1])


def cost(outcome: CellOutcome) -> Reading:
    """Microseconds a round."""
    return 1e6 * outcome.seconds_per_round, math.nan, math.nan


def far(lines: list[Line]) -> list[Line]:
    """The lines that a linear panel leaves out."""
    limit = FAR * float(np.quantile([line.series.level for line in lines], 1.0 / 3.0))
    return [line for line in lines if line.series.level > limit]


def curves(axes: Axes, lines: list[Line], log: bool) -> None:
    """Mean regret over the rounds, with bands."""
    shown = lines if log else [line for line in lines if line not in far(lines)]
    faint = 0.16 if len(shown) <= 4 else 0.08  # many bands would hide the lines
    for line in shown:
        outcome = line.series.outcomes[0]
        index = chosen(len(outcome.checkpoints), log)
        rounds, mean = np.array(outcome.checkpoints)[index], outcome.regret.mean(axis=0)[index]
        look: dict[str, Any] = {
            "color": line.look.colour,
            "linestyle": line.look.dashes,
            "zorder": line.look.above,
        }
        axes.plot(rounds, mean, gid=mark(line.label), **look)
        if len(outcome.regret) > 1:
            half = half_width(outcome.regret)[index]
            low = np.maximum(mean - half, 0.3 * mean) if log else mean - half
            band: dict[str, Any] = {"color": line.look.colour, "alpha": faint, "linewidth": 0}
            axes.fill_between(rounds, low, mean + half, gid=mark(line.label, BAND), **band)
    finish_curves(axes, shown, log and any(line.series.loses for line in shown))


def finish_curves(axes: Axes, shown: list[Line], log: bool) -> None:
    axes.set(xlabel="round", ylabel="regret")
    horizon = max(line.series.outcomes[0].cell.horizon for line in shown)
    if log:
        axes.set(xscale="log", yscale="log")
        checkpoints = shown[0].series.outcomes[0].checkpoints
        square_root(axes, checkpoints[0], checkpoints[-1], lowest_ratio(shown))
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
    else:
        axes.set(xlim=(0, horizon), ylim=(0, None))
        axes.locator_params(nbins=5)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(tick_numeral)


def lowest_ratio(shown: list[Line]) -> float:
    """Of mean regret to the square root of the rounds."""
    outcomes = [outcome for line in shown for outcome in line.series.outcomes]
    return min(
        float((outcome.regret.mean(axis=0) / np.sqrt(outcome.checkpoints)).min())
        for outcome in outcomes
    )


def chosen(count: int, log: bool) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Which checkpoints to draw; the last always."""
    spaced = np.geomspace(1, count, POINTS) if log else np.linspace(1, count, min(count, POINTS))
    return np.unique(spaced.round().astype(np.int64)) - 1


def against(axes: Axes, lines: list[Line], name: str, label: str, measure: Measure) -> None:
    """A measure along an axis of numbers, on logarithmic axes; policies without the axis as level lines."""
    measured = [(line, [measure(outcome) for outcome in line.series.outcomes]) for line in lines]
    measured = [
        (line, points) for line, points in measured if min(point[0] for point in points) > 0.0
    ]  # has a logarithm
    sloped = [
        (line, points) for line, points in measured if name in line.series.outcomes[0].cell.axes
    ]
    values = sorted(
        {float(outcome.cell.axes[name]) for line, _ in sloped for outcome in line.series.outcomes}
    )
    for place, (line, points) in enumerate(sloped):
        x = np.array([float(outcome.cell.axes[name]) for outcome in line.series.outcomes])
        aside = (values[-1] / values[0]) ** (
            0.012 * (place - (len(sloped) - 1) / 2)
        )  # bars beside each other
        joined(axes, line, x * aside, points)
    for line, points in measured:
        if name not in line.series.outcomes[0].cell.axes:
            look: dict[str, Any] = {
                "color": line.look.colour,
                "linestyle": (0, (1, 1.2)),
                "linewidth": 1.2,
            }
            axes.axhline(points[0][0], gid=mark(line.label), **look)
    axes.set(xscale="log", yscale="log", xlabel=name, ylabel=label)
    ticks_at(axes.xaxis, values)
    if measured:
        axes.set_ylim(*heights([point for _, points in measured for point in points]))
    logarithmic(axes.yaxis)


def joined(axes: Axes, line: Line, x: FloatArray, points: Sequence[Reading]) -> None:
    look = line.look
    mean, low, high = (np.array(column) for column in zip(*points, strict=True))
    shape: dict[str, Any] = {
        "color": look.colour,
        "linestyle": look.dashes,
        "marker": look.marker,
        "markersize": 3.5,
    }
    axes.plot(x, mean, gid=mark(line.label), **shape)
    if not np.isnan(low).any():
        axes.vlines(
            x,
            np.maximum(low, 1e-3 * mean),
            high,
            color=look.colour,
            linewidth=1.1,
            gid=mark(line.label, BAND),
        )


def heights(points: list[Reading]) -> tuple[float, float]:
    """From the lowest to the highest reading, and as much of their intervals as does not squeeze them."""
    low = min(mean if math.isnan(low) else max(low, mean / 3.0) for mean, low, _ in points)
    high = max(mean if math.isnan(high) else min(high, 3.0 * mean) for mean, _, high in points)
    return low / 1.2, high * 1.2


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
