"""A panel of rows on the axes that it is given: dots with intervals, a heat map.

The name of a row stands above it, so that long names cost no width.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap

from ensample.report.drawing.axes import logarithmic, tick_numeral
from ensample.report.drawing.style import BANDS, HEAT, INK, RULE, LineStyle
from ensample.types import FloatArray

MOST_ROWS = 24  # of a panel
NAME, STEP, GAP = 0.5, 0.26, 0.32  # of a row: its name, each line of dots, what is between rows
INCHES = 0.42  # of one
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


def dots(axes: Axes, rows: list[DotRow], label: str) -> None:
    """Dots with intervals."""
    everything = [dot for row in rows for dot in row.dots]
    log = min(dot.x for dot in everything) > 0.0 and max(dot.x for dot in everything) > 20.0 * min(
        dot.x for dot in everything
    )
    axes.set_xscale("log" if log else "linear")
    for top, row in zip(tops([row.depth for row in rows]), rows, strict=True):
        for place, dot in enumerate(row.dots):
            at = top + NAME + STEP * (0.5 if row.level else place + 0.5)
            if not math.isnan(dot.low):
                low = max(dot.low, 0.05 * dot.x) if log else dot.low
                axes.hlines(at, low, dot.high, color=dot.look.colour, linewidth=1.6)
            axes.plot(dot.x, at, dot.look.marker, color=dot.look.colour, markersize=3.8)
    named_rows(axes, [(row.label, row.depth) for row in rows])
    axes.set_xlabel(f"{label} (logarithmic)" if log else label)
    if log:
        logarithmic(axes.xaxis)
    else:
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), None)
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(tick_numeral)


def tops(depths: list[int]) -> list[float]:
    """Where rows begin; the last number is where they end.

    >>> tops([1, 2])[:2] == [0.0, NAME + STEP + GAP]
    True
    """
    return [0.0, *itertools.accumulate(NAME + STEP * depth + GAP for depth in depths)][
        : len(depths)
    ]


def inches(depths: list[int]) -> float:
    """The height of a panel with rows of so many lines of dots."""
    return 0.55 + INCHES * sum(NAME + STEP * depth + GAP for depth in depths)


def heat_inches(rows: int) -> float:
    return inches([HEAT_DEPTH] * rows)


def named_rows(axes: Axes, rows: list[tuple[str, int]]) -> None:
    """The first row on top, each with its name above it and a thin line between."""
    depths = [depth for _, depth in rows]
    axes.set_ylim(sum(NAME + STEP * depth + GAP for depth in depths), -0.1)
    axes.yaxis.set_visible(False)
    axes.spines.left.set_visible(False)
    for top, (label, _) in zip(tops(depths), rows, strict=True):
        axes.text(
            0.0,
            top + 0.32,
            label,
            transform=axes.get_yaxis_transform(),
            va="baseline",
            fontsize=8.5,
            color=INK,
        )
        if top:
            axes.axhline(top - 0.1, color=RULE, linewidth=0.5)


def heat(axes: Axes, rows: list[tuple[str, FloatArray]]) -> None:
    """The share of the rounds that each arm got, the best arm on the left; many arms share a field."""
    edges = fields(len(rows[0][1]))
    depths = [HEAT_DEPTH] * len(rows)
    for top, (_, shares) in zip(tops(depths), rows, strict=True):
        means = [float(shares[first:last].mean()) for first, last in itertools.pairwise(edges)]
        axes.pcolormesh(
            np.arange(len(edges)),
            [top + NAME - 0.05, top + NAME + STEP * HEAT_DEPTH],
            [means],
            cmap=ListedColormap([look.colour for look in HEAT]),
            norm=BoundaryNorm(BANDS, len(HEAT)),
            edgecolors=RULE,
            linewidth=0.3,
        )
    named_rows(axes, [(label, HEAT_DEPTH) for label, _ in rows])
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
