"""Figure of `ensample plan`: the number of members against the regret bound that they give."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from ensample.numerals import numeral
from ensample.report.style import LOOKS, OFFSET, SMALL, house_style, set_log_ticks
from ensample.theory import Tradeoff

BESIDE = OFFSET | {"fontsize": 8.0}
SMALL_BESIDE = OFFSET | SMALL


def draw(rows: Sequence[Tradeoff], paper: Tradeoff, title: str) -> Figure:
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
