"""Panels of lines: regret over the rounds, a measure along an axis of numbers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import NullLocator

from ensample.lab.analysis import mean_interval
from ensample.lab.results import CellOutcome
from ensample.report.study.panels import Line
from ensample.report.study.series import value_name
from ensample.report.style import BAND, plot_square_root, set_log_ticks, set_plain_ticks
from ensample.statistics import half_width
from ensample.types import FloatArray, IntArray

Reading = tuple[float, float, float]  # (value, low, high); NaN without an interval
Measure = Callable[[CellOutcome], Reading]
POINTS = 80  # of a curve
FAR = 4.0  # times the regret of the better third: such a line would flatten a linear panel


def final_regret(outcome: CellOutcome) -> Reading:
    """Return the mean final regret and its interval."""
    return mean_interval(outcome.regret[:, -1])


def cost(outcome: CellOutcome) -> Reading:
    """Return microseconds a round."""
    return 1e6 * outcome.seconds_per_round, math.nan, math.nan


def far_lines(lines: list[Line]) -> list[Line]:
    """Return the lines that a linear panel leaves out."""
    limit = FAR * float(np.quantile([line.series.level for line in lines], 1.0 / 3.0))
    return [line for line in lines if line.series.level > limit]


def plot_curves(axes: Axes, lines: list[Line], log: bool) -> None:
    """Plot mean regret over the rounds, with bands."""
    far = [] if log else far_lines(lines)
    shown = [line for line in lines if line not in far]
    alpha = 0.16 if len(shown) <= 4 else 0.08  # many bands would hide the lines
    for line in shown:
        outcome = line.series.outcomes[0]
        index = chosen_points(len(outcome.checkpoints), log)
        rounds, mean = np.array(outcome.checkpoints)[index], outcome.regret.mean(axis=0)[index]
        axes.plot(rounds, mean, **line.look.of_line)
        if len(outcome.regret) > 1:
            half = half_width(outcome.regret)[index]
            low = np.maximum(mean - half, 0.3 * mean) if log else mean - half
            band = BAND | {"color": line.look.colour, "alpha": alpha}
            axes.fill_between(rounds, low, mean + half, **band)
    axes.set(xlabel="round", ylabel="regret")
    outcomes = [line.series.outcomes[0] for line in shown]
    if log and any(line.series.loses for line in shown):
        axes.set(xscale="log", yscale="log")
        rounds = np.array(outcomes[0].checkpoints)
        ratios = [each.regret.mean(axis=0) / np.sqrt(each.checkpoints) for each in outcomes]
        lowest = min(float(ratio.min()) for ratio in ratios)
        plot_square_root(axes, rounds[0], rounds[-1], lowest)
        set_log_ticks(axes.xaxis, axes.yaxis)
    else:
        axes.set(xlim=(0, max(each.cell.horizon for each in outcomes)), ylim=(0, None))
        axes.locator_params(nbins=5)
        set_plain_ticks(axes.xaxis, axes.yaxis)


def chosen_points(count: int, log: bool) -> IntArray:
    """Return which checkpoints to draw; the last always."""
    spaced = np.geomspace(1, count, POINTS) if log else np.linspace(1, count, min(count, POINTS))
    return np.unique(spaced.round().astype(np.int64)) - 1


def plot_against(axes: Axes, lines: list[Line], axis: str, label: str, measure: Measure) -> None:
    """Plot a measure along an axis of numbers; policies without the axis as level lines."""
    measured = [(line, [measure(outcome) for outcome in line.series.outcomes]) for line in lines]
    positive = [item for item in measured if min(value for value, *_ in item[1]) > 0.0]
    sloped = [item for item in positive if axis in item[0].series.outcomes[0].cell.axes]
    given = [[float(each.cell.axes[axis]) for each in line.series.outcomes] for line, _ in sloped]
    values = sorted({x for xs in given for x in xs})
    for place, ((line, readings), xs) in enumerate(zip(sloped, given, strict=True)):
        aside = 0.012 * (place - (len(sloped) - 1) / 2)  # intervals stand beside each other
        plot_readings(axes, line, np.array(xs) * (values[-1] / values[0]) ** aside, readings)
    for line, readings in positive:
        if axis not in line.series.outcomes[0].cell.axes:
            look: dict[str, Any] = {"color": line.look.colour, "linewidth": 1.2}
            look |= {"linestyle": (0, (1, 1.2))}
            axes.axhline(readings[0][0], **look)
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel=label)
    set_ticks_at(axes.xaxis, values)
    if positive:
        axes.set_ylim(*height([reading for _, readings in positive for reading in readings]))
    set_log_ticks(axes.yaxis)


def plot_readings(axes: Axes, line: Line, x: FloatArray, readings: Sequence[Reading]) -> None:
    look = line.look
    mean, low, high = (np.array(column) for column in zip(*readings, strict=True))
    shape = {"color": look.colour, "linestyle": look.dashes, "marker": look.marker}
    axes.plot(x, mean, markersize=3.5, **shape)
    if not np.isnan(low).any():
        low = np.maximum(low, 1e-3 * mean)
        axes.vlines(x, low, high, color=look.colour, linewidth=1.1)


def height(readings: list[Reading]) -> tuple[float, float]:
    """Return limits with all values, and as much of intervals as does not squeeze them."""
    low = min(mean if math.isnan(low) else max(low, mean / 3.0) for mean, low, _ in readings)
    high = max(mean if math.isnan(high) else min(high, 3.0 * mean) for mean, _, high in readings)
    return low / 1.2, high * 1.2


def set_ticks_at(axis: Axis, values: list[float], apart: float = 0.11) -> None:
    """Set ticks at the values that are far enough from each other to read."""
    if not values:
        return
    span = math.log(values[-1] / values[0]) or 1.0
    kept: list[float] = []
    for x in values:
        if not kept or math.log(x / kept[-1]) / span >= apart:
            kept.append(x)
    axis.set_ticks(kept, [value_name(int(x) if x == int(x) else x) for x in kept])
    axis.set_minor_locator(NullLocator())
