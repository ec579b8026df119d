"""Figures of regret over the rounds: of a race between policies, and of the runs of one."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like, to_hex
from matplotlib.figure import Figure

from ensample.checks import instance
from ensample.errors import InvalidArgument
from ensample.markup import typed
from ensample.numerals import numeral
from ensample.report.figures import NotebookFigure
from ensample.report.style import (
    BAND,
    LOOKS,
    SMALL,
    LineStyle,
    house_style,
    plot_square_root,
    set_log_ticks,
    set_plain_ticks,
)
from ensample.simulation import Runs
from ensample.types import IntArray

LEGEND_ROW = 0.18  # inches
FAR = 4.0  # times the median regret: such a policy would flatten the linear panel and is left out
TALL = 1.5  # times the highest mean: a bar beyond would flatten the panel too, and is cut
MANY_ROUNDS = 10_000  # five numbers of this length would touch below a panel
LONG_NAME = 24  # letters: beside longer names panels have no room, so names go above them
SINGLE_RUNS = 50  # that are drawn one by one
PERCENTILES = "10th to 90th percentile"


class Racer(NamedTuple):
    """A policy of a race."""

    label: str
    runs: Runs
    look: LineStyle

    @property
    def final(self) -> float:
        return float(self.runs.mean[-1])


def draw(results: dict[str, Runs], title: str) -> Figure:
    """Draw comparable policies on linear axes (left), all of them on logarithmic ones (right)."""
    with house_style():
        racers = [
            Racer(label, runs, LOOKS[place % len(LOOKS)])
            for place, (label, runs) in enumerate(results.items())
        ]
        racers.sort(key=lambda racer: -racer.final)  # the legend reads as the curves end
        above = max(len(racer.label) for racer in racers) > LONG_NAME
        height = 3.0 + LEGEND_ROW * (len(racers) + 1) * above
        figure = Figure(figsize=(7.6, height), layout="constrained")
        heading = "mean regret at the end"
        if above:
            heading = f"{title}\n{heading}"
        else:
            figure.suptitle(title, x=0.01, ha="left", **SMALL)
        left, right = figure.subplots(1, 2)
        limit = FAR * float(np.median([racer.final for racer in racers]))
        near = [racer for racer in racers if racer.final <= limit]
        cut = plot_linear(left, near)
        plot_logarithmic(right, racers)
        figure.align_xlabels()
        place: Any = "outside upper left" if above else "outside right upper"
        figure.legend(
            handles=right.lines[: len(racers)], loc=place, title=heading, alignment="left"
        )
        notes = "Bands: mean ± 2 standard errors. Bars: 10th to 90th percentile of final regret."
        notes += " A bar with ▲ goes on above." * cut
        if left_out := [racer.label for racer in racers if racer not in near]:
            notes += f"\nLeft panel without {' and '.join(left_out)}."
        figure.supxlabel(notes, x=0.01, ha="left", **SMALL)
    return figure


def plot_linear(axes: Axes, racers: list[Racer]) -> bool:
    """Plot means with bands and bars after the last round; return whether a bar is cut."""
    horizon = racers[0].runs.horizon
    highest = max(float(racer.runs.quantile(0.9)[-1]) for racer in racers)
    top = 1.05 * min(max(highest, racers[0].final), TALL * racers[0].final) or 1.0
    for place, racer in enumerate(racers, start=1):
        runs, colour = racer.runs, racer.look.colour
        index = np.arange(runs.checkpoints.size)[::-5][::-1]
        plot_mean(axes, racer, index)
        mean, error = runs.mean[index], 2.0 * runs.standard_error[index]
        band = BAND | {"color": colour, "alpha": 0.15}
        axes.fill_between(runs.checkpoints[index], mean - error, mean + error, **band)
        low, high = runs.quantile(0.1)[-1], runs.quantile(0.9)[-1]
        beside = horizon * (1.0 + 0.025 * place)
        axes.vlines(beside, low, high, color=colour, linewidth=1.2)
        axes.plot(beside, racer.final, "o", color=colour, markersize=2.5)
        if high > top:
            axes.plot(beside, top, "^", color=colour, markersize=4.0, clip_on=False)
    limits = {"xlim": (0, horizon * (1.02 + 0.025 * len(racers))), "ylim": (0, top)}
    axes.set(xlabel="round", ylabel="regret", **limits)
    axes.spines.bottom.set_bounds(0, horizon)
    axes.set_xticks(np.linspace(0, horizon, 5 if horizon < MANY_ROUNDS else 3))
    set_plain_ticks(axes.xaxis, axes.yaxis)
    return highest > top


def plot_logarithmic(axes: Axes, racers: list[Racer]) -> None:
    for racer in racers:
        last = racer.runs.checkpoints.size
        plot_mean(axes, racer, np.unique(np.geomspace(1, last, 120).round().astype(np.int64)) - 1)
    axes.set(xlabel="round", ylabel="regret", xscale="log")
    if racers[0].final > 0.0:  # else there is no logarithm of regret
        axes.set_yscale("log")
        checkpoints = racers[0].runs.checkpoints
        lowest = min(float(np.min(racer.runs.mean / np.sqrt(checkpoints))) for racer in racers)
        plot_square_root(axes, checkpoints[0], checkpoints[-1], lowest)
        set_log_ticks(axes.yaxis)
    set_log_ticks(axes.xaxis)


def plot_mean(axes: Axes, racer: Racer, index: IntArray) -> None:
    label = f"{racer.label}  ({numeral(racer.final)})"
    rounds, mean = racer.runs.checkpoints[index], racer.runs.mean[index]
    axes.plot(rounds, mean, label=label, **racer.look.of_line)


def plot_runs(runs: Runs, axes: Axes | None, label: str | None, color: Any) -> Figure:
    """Draw some runs, a band of all, and their mean, on given axes or in a figure."""
    instance("axes", axes, Axes | None, "axes of matplotlib, or None")
    instance("label", label, str | None, "text, or None")
    if color is not None and not is_color_like(color):
        expected = "a colour of matplotlib, such as 'black' or '#c75b00'"
        raise InvalidArgument("color", color, expected)
    with house_style():
        if axes is not None:
            plot_runs_on(axes, runs, label, color)
            return axes.get_figure(root=True)  # type: ignore[return-value]
        figure = NotebookFigure(figsize=(5.2, 3.2), layout="constrained")
        plot_runs_on(figure.subplots(), runs, label, color)
        figure.legend(loc="outside upper left", fontsize=8.0)
        return figure


def plot_runs_on(axes: Axes, runs: Runs, label: str | None, color: Any) -> None:
    rounds, mean = np.append(0, runs.checkpoints), np.append(0.0, runs.mean)
    last = max(float(runs.horizon), axes.get_xlim()[1] if axes.lines else 0.0)
    color = next_colour(axes) if color is None else color
    if label is None:
        count = len(runs.regret)
        name = f", mean of {count:,} runs" if count > 1 else ""
        label = f"{typed(runs.recipe)}: {numeral(float(runs.mean[-1]))}{name}"
    if len(runs.regret) > 1:
        some = runs.regret[:SINGLE_RUNS]
        each = np.column_stack([np.zeros(len(some)), some])
        axes.plot(rounds, each.T, color=color, alpha=0.25, linewidth=0.5)
        low, high = (np.append(0.0, runs.quantile(q)) for q in (0.1, 0.9))
        known = axes.get_legend_handles_labels()[1]
        band = "" if PERCENTILES in known else PERCENTILES  # in the legend once
        axes.fill_between(rounds, low, high, color=color, alpha=0.15, linewidth=0, label=band)
    axes.plot(rounds, mean, color=color, linewidth=1.8, label=label)
    axes.set(xlabel="round", ylabel="regret")
    axes.set_xlim(0, last, auto=None)
    axes.set_ylim(0, auto=None)  # goes on growing with what is drawn beside it
    set_plain_ticks(axes.xaxis, axes.yaxis)


def next_colour(axes: Axes) -> str:
    """Return the first of our colours that no line has, from as many on as there are."""
    used = {to_hex(line.get_color()) for line in axes.lines}
    colours = [look.colour for look in LOOKS]
    start = len(used) % len(colours)
    order = colours[start:] + colours[:start]
    return next((colour for colour in order if colour not in used), order[0])
