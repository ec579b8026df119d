"""Members against the regret bound that they buy, on logarithmic axes."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.numerals import numeral
from ensample.report.drawing.axes import logarithmic
from ensample.report.drawing.files import save
from ensample.report.drawing.style import LOOKS, QUIET, house_style
from ensample.theory import Tradeoff

__all__ = ["draw", "save"]

SMALL: dict[str, Any] = {"color": QUIET, "fontsize": 7.5}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8.0}
QUIETLY = BESIDE | SMALL


def draw(rows: Sequence[Tradeoff], paper: Tradeoff, title: str) -> Figure:
    """The frontier, with the point that keeps Theorem 1's share and, in its own place, Theorem 1."""
    with house_style():
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.plot(
            [row.size for row in rows],
            [row.bound for row in rows],
            "o-",
            color=LOOKS[0].colour,
            markersize=3.0,
        )
        axes.plot(paper.size, paper.bound, "D", color=LOOKS[1].colour, markersize=5.5)
        axes.set(xscale="log", yscale="log", xlabel="members", ylabel="bound on the regret")
        for axis in (axes.xaxis, axes.yaxis):
            logarithmic(axis)
        point_out(axes, rows, paper)
        figure.suptitle(title, x=0.01, ha="left", **SMALL)
    return figure


def point_out(axes: Axes, rows: Sequence[Tradeoff], paper: Tradeoff) -> None:
    """Words beside the first and last points, and beside the two that have the paper's share."""
    axes.annotate(
        f"Theorem 1: {numeral(paper.size)}",
        (paper.size, paper.bound),
        (0, 7),
        ha="center",
        **BESIDE,
    )
    ends = rows[0], rows[-1]
    for row, offset, side in zip(ends, ((7, 0), (-2, 6)), ("left", "right"), strict=True):
        axes.annotate(f"share {row.share:.3g}", (row.size, row.bound), offset, ha=side, **QUIETLY)
    for row in rows:
        if row.share == paper.share:
            axes.plot(row.size, row.bound, "o", color=LOOKS[0].colour, markersize=6.5)
            axes.annotate(
                f"the same share: {numeral(row.size)}",
                (row.size, row.bound),
                (8, 1),
                ha="left",
                **BESIDE,
            )
