"""A plate is a figure of several panels: side by side on the page, which turns them to fit, and in one file."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ensample.report.drawing.marks import mark_of
from ensample.report.drawing.shown import ShownFigure
from ensample.report.drawing.style import ON_A_PAGE, LineStyle, house_style
from ensample.report.drawing.svg import inline
from ensample.report.study.figures.arrange import Panel

LOGARITHMIC = "logarithmic axes"
WIDTH, HEIGHT = 4.2, 2.75  # inches of a panel
BELOW: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (-0.12, -0.22),
    "ncols": 2,
}  # never over the lines
LEGEND = 14  # entries that a shared legend may have


class LegendKey(NamedTuple):
    """An entry of a legend, or a remark about a line."""

    look: LineStyle
    text: str
    shape: str = "line"  # or dot, field

    @property
    def mark(self) -> str:
        """By which the page's script knows the curves that it stands for."""
        return mark_of(self.text)

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
    framed: bool = False  # whether it has curves whose values can be asked for

    @property
    def heading(self) -> str:
        return ": ".join(filter(None, [self.title, self.scale]))


@dataclass(frozen=True)
class Plate:
    """A figure with its words."""

    name: str  # of its files and ids
    title: str
    pictures: list[Picture]
    legend: list[LegendKey] = field(default_factory=list)  # of all panels
    caption: str = ""

    def label(self, picture: Picture) -> str:
        """What is read aloud."""
        keys = ", ".join(key.text for key in self.legend or picture.legend)
        return ". ".join(filter(None, [f"{self.title}: {picture.heading}", keys]))

    def for_page(self) -> list[str]:
        """Every panel as an <svg> element."""
        drawn = []
        for place, picture in enumerate(self.pictures):
            with house_style(**ON_A_PAGE):
                figure = Figure(figsize=(WIDTH, picture.height), layout="constrained")
                picture.draw(figure.subplots())
            drawn.append(
                inline(figure, f"{self.name}-{place}", self.label(picture), picture.framed)
            )
        return drawn

    def for_file(self) -> Figure:
        """All panels with their titles and legends."""
        with house_style(**ON_A_PAGE):
            columns = min(3, len(self.pictures))
            rows = math.ceil(len(self.pictures) / columns)
            height = max(picture.height for picture in self.pictures) + 0.3
            figure = ShownFigure(
                figsize=(0.9 * WIDTH * columns, 0.95 * height * rows + 0.5), layout="constrained"
            )
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
                figure.legend(
                    handles=handles(self.legend),
                    loc="outside lower left",
                    ncols=columns * 2,
                    fontsize=7.5,
                )
        return figure


def handles(keys: Sequence[LegendKey]) -> list[Line2D]:
    shapes: dict[str, dict[str, Any]] = {
        "line": {},
        "dot": {"linestyle": "", "marker": "o"},
        "field": {"linestyle": "", "marker": "s", "markersize": 8},
    }
    return [
        Line2D(
            [],
            [],
            color=key.look.colour,
            label=key.text,
            **{"linestyle": key.look.dashes, **shapes[key.shape]},
        )
        for key in keys
    ]


def keys_of(panel: Panel, shape: str = "line") -> list[LegendKey]:
    return [LegendKey(line.look, line.label, shape) for line in panel.lines]


def shared_legend(pictures: list[Picture]) -> list[LegendKey]:
    """One legend for all panels if no look means two things in them; else none, and every panel has its own."""
    keys = list(dict.fromkeys(key for picture in pictures for key in picture.legend))
    looks = {key.look for key in keys}
    return keys if len(looks) == len(keys) <= LEGEND else []
