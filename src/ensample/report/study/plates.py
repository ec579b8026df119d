"""Plates: figures of several panels, one by one on the page and together in a file."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ensample.report.figures import NotebookFigure, curve_id, inline_svg
from ensample.report.study.panels import Panel
from ensample.report.study.rows import MOST_ROWS, DotRow, inches, plot_dots
from ensample.report.study.series import evenly, join
from ensample.report.style import PAGE_STYLE, LineStyle, house_style

LOGARITHMIC = "logarithmic axes"
WIDTH, HEIGHT = 4.2, 2.75  # inches of a panel
SHARED_KEYS = 14  # most entries of a legend for all panels
BELOW: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.12, -0.22), "ncols": 2}
SHAPES: dict[str, dict[str, Any]] = {
    "line": {},
    "dot": {"linestyle": "", "marker": "o"},
    "field": {"linestyle": "", "marker": "s", "markersize": 8},
}


class LegendKey(NamedTuple):
    """An entry of a legend, or a remark about a line."""

    look: LineStyle
    text: str
    shape: str = "line"  # or dot, field

    @property
    def mark(self) -> str:
        """Name by which the page's script knows its curves."""
        return curve_id(self.text)

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
    has_curves: bool = False  # whose values can be asked for

    @property
    def heading(self) -> str:
        return join(self.title, self.scale, between=": ")


@dataclass(frozen=True)
class Plate:
    """A figure with its words."""

    name: str  # of its files and ids
    title: str
    pictures: list[Picture]
    legend: list[LegendKey] = field(default_factory=list)  # of all panels
    caption: str = ""

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
            drawn.append(inline_svg(figure, name, label, picture.has_curves))
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


def keys_of(panel: Panel) -> list[LegendKey]:
    return [LegendKey(line.look, line.label) for line in panel.lines]


def shared_legend(pictures: list[Picture]) -> list[LegendKey]:
    """Return one legend for all panels, unless a look means two things or there are too many."""
    keys = list(dict.fromkeys(key for picture in pictures for key in picture.legend))
    looks = {key.look for key in keys}
    return keys if len(looks) == len(keys) <= SHARED_KEYS else []
