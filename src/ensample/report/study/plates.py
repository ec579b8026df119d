"""Plates: figures of several panels, one by one on the page and together in a file."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ensample.palette import INK, RULE
from ensample.report.figures import NotebookFigure
from ensample.report.pages import inline_svg
from ensample.report.study.panels import Panel
from ensample.report.study.series import evenly, join
from ensample.report.style import (
    HEAT,
    HEAT_EDGES,
    PAGE_STYLE,
    LineStyle,
    house_style,
    set_log_ticks,
    set_plain_ticks,
)
from ensample.types import FloatArray

LOGARITHMIC = "logarithmic axes"
WIDTH, HEIGHT = 4.2, 2.75  # inches of a panel
SHARED_KEYS = 14  # most entries of a legend for all panels
BELOW: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.12, -0.22), "ncols": 2}
SHAPES: dict[str, dict[str, Any]] = {
    "line": {},
    "dot": {"linestyle": "", "marker": "o"},
    "field": {"linestyle": "", "marker": "s", "markersize": 8},
}
MOST_ROWS = 24  # of a panel
NAME, STEP, GAP = 0.5, 0.26, 0.32  # units of a row: its name, each line of dots, the gap below
INCHES = 0.42  # of a unit
HEAT_DEPTH = 2  # lines of dots that a strip of the heat map is as high as


class Dot(NamedTuple):
    x: float
    low: float
    high: float
    look: LineStyle


class DotRow(NamedTuple):
    label: str
    dots: list[Dot]
    level: bool = False  # all dots on one line

    @property
    def depth(self) -> int:
        return 1 if self.level else len(self.dots)


def plot_dots(axes: Axes, rows: list[DotRow], label: str) -> None:
    """Plot dots with intervals; a factor above 20 makes the axis logarithmic."""
    values = [dot.x for row in rows for dot in row.dots]
    log = min(values) > 0.0 and max(values) > 20.0 * min(values)
    axes.set_xscale("log" if log else "linear")
    for top, row in zip(tops([row.depth for row in rows]), rows, strict=True):
        for place, dot in enumerate(row.dots):
            y = top + NAME + STEP * (0.5 if row.level else place + 0.5)
            if not math.isnan(dot.low):
                low = max(dot.low, 0.05 * dot.x) if log else dot.low
                axes.hlines(y, low, dot.high, color=dot.look.colour, linewidth=1.6)
            axes.plot(dot.x, y, dot.look.marker, color=dot.look.colour, markersize=3.8)
    name_rows(axes, [row.label for row in rows], [row.depth for row in rows])
    axes.set_xlabel(f"{label} (logarithmic)" if log else label)
    if log:
        set_log_ticks(axes.xaxis)
    else:
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), None)
        axes.locator_params(axis="x", nbins=5)
        set_plain_ticks(axes.xaxis)


def tops(depths: list[int]) -> list[float]:
    """Return where rows begin.

    >>> tops([1, 2]) == [0.0, NAME + STEP + GAP]
    True
    """
    heights = [NAME + STEP * depth + GAP for depth in depths]
    return [0.0, *itertools.accumulate(heights[:-1])]


def inches(depths: list[int]) -> float:
    """Return the height of a panel with rows of so many lines of dots."""
    return 0.55 + INCHES * sum(NAME + STEP * depth + GAP for depth in depths)


def name_rows(axes: Axes, labels: list[str], depths: list[int]) -> None:
    """Put the first row on top, each with its name above it and a thin line between."""
    axes.set_ylim(sum(NAME + STEP * depth + GAP for depth in depths), -0.1)
    axes.yaxis.set_visible(False)
    axes.spines.left.set_visible(False)
    across = axes.get_yaxis_transform()
    for top, label in zip(tops(depths), labels, strict=True):
        style: dict[str, Any] = {"va": "baseline", "fontsize": 8.5, "color": INK}
        axes.text(0.0, top + 0.32, label, transform=across, **style)
        if top:
            axes.axhline(top - 0.1, color=RULE, linewidth=0.5)


def plot_heat(axes: Axes, rows: list[tuple[str, FloatArray]]) -> None:
    """Plot shares of the rounds by arm, the best on the left; late fields have many arms."""
    edges = field_edges(len(rows[0][1]))
    depths = [HEAT_DEPTH] * len(rows)
    colours = ListedColormap([look.colour for look in HEAT]), BoundaryNorm(HEAT_EDGES, len(HEAT))
    for top, (_, shares) in zip(tops(depths), rows, strict=True):
        means = [float(shares[first:last].mean()) for first, last in itertools.pairwise(edges)]
        y = [top + NAME - 0.05, top + NAME + STEP * HEAT_DEPTH]
        look: dict[str, Any] = {
            "cmap": colours[0],
            "norm": colours[1],
            "edgecolors": RULE,
            "linewidth": 0.3,
        }
        axes.pcolormesh(np.arange(len(edges)), y, [means], **look)
    name_rows(axes, [label for label, _ in rows], depths)
    fields = list(itertools.pairwise(edges))
    ticks = range(0, len(fields), max(1, len(fields) // 8))
    names = [f"{first + 1:,}" if last == first + 1 else f"{first + 1:,}+" for first, last in fields]
    axes.set_xticks([tick + 0.5 for tick in ticks], [names[tick] for tick in ticks])
    axes.set_xlabel("arm by its mean, the best first")
    axes.tick_params(axis="x", length=0)
    axes.spines.bottom.set_visible(False)


def heat_inches(rows: int) -> float:
    return inches([HEAT_DEPTH] * rows)


def field_edges(arms: int, single: int = 20, most: int = 32) -> list[int]:
    """Return edges of fields: each of the first arms alone, the others in ever larger groups."""
    if arms <= most:
        return list(range(arms + 1))
    tail = np.geomspace(single, arms, most - single + 1).round().astype(int).tolist()
    return sorted({*range(single), *tail})


class LegendKey(NamedTuple):
    """An entry of a legend, or a remark about a line."""

    look: LineStyle
    text: str
    shape: str = "line"  # or dot, field

    @property
    def dashed(self) -> bool:
        return bool(self.look.dashes != "-")


class Picture(NamedTuple):
    """A panel: what draws it, and what stands below it."""

    title: str
    draw: Callable[[Axes], None]
    legend: Sequence[LegendKey] = ()
    remarks: Sequence[LegendKey] = ()
    notes: Sequence[str] = ()
    height: float = HEIGHT
    scale: str = ""  # of the axes, where it is not the usual one

    @property
    def heading(self) -> str:
        return join(self.title, self.scale, between=": ")


@dataclass(frozen=True)
class Plate:
    """A figure with its words."""

    name: str  # of its files and ids
    title: str
    pictures: list[Picture]
    caption: str = ""

    @property
    def legend(self) -> list[LegendKey]:
        """Legend of all panels; none where a look means two things or there are too many."""
        keys = list(dict.fromkeys(key for picture in self.pictures for key in picture.legend))
        looks = {key.look for key in keys}
        return keys if len(looks) == len(keys) <= SHARED_KEYS else []

    def for_page(self) -> list[Markup]:
        """Return every panel as an <svg> element."""
        drawn = []
        for place, picture in enumerate(self.pictures):
            with house_style(**PAGE_STYLE):
                figure = Figure(figsize=(WIDTH, picture.height), layout="constrained")
                picture.draw(figure.subplots())
            keys = ", ".join(key.text for key in self.legend or picture.legend)
            label = join(f"{self.title}: {picture.heading}", keys, between=". ")
            name = f"{self.name}-{place}"
            drawn.append(inline_svg(figure, name, label))
        return drawn

    def for_file(self) -> Figure:
        """Return a figure of all panels, with their titles and legends."""
        columns = min(3, len(self.pictures))
        rows = math.ceil(len(self.pictures) / columns)
        height = max(picture.height for picture in self.pictures) + 0.3
        size = 0.9 * WIDTH * columns, 0.95 * height * rows + 0.5
        with house_style(**PAGE_STYLE):
            figure = NotebookFigure(figsize=size, layout="constrained")
            grid = figure.subplots(rows, columns, squeeze=False).ravel()
            for axes, picture in zip(grid, self.pictures, strict=False):
                picture.draw(axes)
                axes.set_title(picture.heading, loc="left", wrap=True)
                if not self.legend and picture.legend:
                    axes.legend(handles=handles(picture.legend), fontsize=7.0, **BELOW)
            for axes in grid[len(self.pictures) :]:
                axes.set_visible(False)
            figure.suptitle(self.title, x=0.01, ha="left")
            if self.legend:
                place: Any = {"loc": "outside lower left", "ncols": columns * 2}
                figure.legend(handles=handles(self.legend), fontsize=7.5, **place)
        return figure


def dot_picture(
    title: str, rows: list[DotRow], label: str, legend: Sequence[LegendKey] = ()
) -> Picture:
    """Return a panel of rows of dots, at most MOST_ROWS of them."""
    shown = evenly(rows, MOST_ROWS)
    height = inches([row.depth for row in shown])
    return Picture(title, partial(plot_dots, rows=shown, label=label), legend, height=height)


def handles(keys: Sequence[LegendKey]) -> list[Line2D]:
    found = []
    for key in keys:
        look = {"linestyle": key.look.dashes} | SHAPES[key.shape]
        found.append(Line2D([], [], color=key.look.colour, label=key.text, **look))
    return found


def line_picture(
    panel: Panel, draw: Callable[..., None], remarks: Sequence[LegendKey] = (), **options: Any
) -> Picture:
    """Return a panel of lines: `draw(axes, lines, **options)`."""
    scale = LOGARITHMIC if options.get("log", True) else ""
    keys = [LegendKey(line.look, line.label) for line in panel.lines]
    plot = partial(draw, lines=panel.lines, **options)
    return Picture(panel.title, plot, keys, remarks, scale=scale)
