"""The figures of an evaluation: all policies, how an estimate came to be, the estimators side by side, the weights."""

import math
from collections.abc import Sequence
from textwrap import shorten

from matplotlib.figure import Figure

from ensample.evaluation import Evaluation
from ensample.evaluation.sums import WEIGHT_EDGES
from ensample.numerals import aligned
from ensample.report.drawing.axes import logarithmic, tick_numeral
from ensample.report.drawing.style import INK, LOOKS, ON_A_PAGE, QUIET, house_style

ESTIMATORS = "ips", "snips", "dm", "dr"
LONGEST = 38  # characters of a policy that fit above its interval
SIZE = 4.0, 2.4  # three to a row, where text of a wider one would be tiny


def forest(found: Sequence[Evaluation]) -> Figure:
    """DR of every policy with its interval, the first on top, and what was logged on the same rows."""
    with house_style(**ON_A_PAGE):
        figure = Figure(figsize=(SIZE[0], 0.6 + 0.46 * len(found)), layout="constrained")
        axes = figure.subplots()
        for place, each in enumerate(reversed(found)):
            estimate = each["dr"]
            axes.hlines(place, estimate.low, estimate.high, color=LOOKS[0].colour, linewidth=2.0)
            axes.plot(estimate.value, place, "o", color=LOOKS[0].colour, markersize=5)
            axes.vlines(each.logged, place - 0.14, place + 0.14, color=QUIET, linewidth=1.4)
            written = (
                f"{aligned(estimate.value)} ({aligned(estimate.low)} to {aligned(estimate.high)})"
            )
            for text, side, align in (
                (shorten(each.target, LONGEST, placeholder="..."), 0.0, "left"),
                (written, 1.0, "right"),
            ):
                axes.annotate(
                    text,
                    (side, place),
                    (0, 8),
                    ("axes fraction", "data"),
                    "offset points",
                    ha=align,
                    fontsize=7.5,
                    color=INK,
                )
        axes.set(xlabel="reward a row", ylim=(-0.45, len(found) - 0.3))
        axes.margins(x=0.03)
        axes.yaxis.set_visible(False)
        axes.spines.left.set_visible(False)
        axes.xaxis.set_major_formatter(tick_numeral)
    return figure


def over_time(found: Evaluation) -> Figure:
    """DR with its interval after every look, and what was logged."""
    path = found.path()
    dr = path.filter(path["estimator"] == "dr")
    rows, value, low, high = (dr[name].to_numpy() for name in ("rows", "value", "low", "high"))
    with house_style(**ON_A_PAGE):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        axes.fill_between(rows, low, high, color=LOOKS[0].colour, alpha=0.18, linewidth=0)
        axes.plot(rows, value, color=LOOKS[0].colour)
        axes.axhline(found.logged, color=QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
        axes.annotate(
            "logged",
            (1.0, found.logged),
            (-2, 3),
            ("axes fraction", "data"),
            "offset points",
            color=QUIET,
            ha="right",
        )
        late = rows >= rows[-1] / 100.0  # the first looks would flatten the rest
        room = 0.06 * ((high[late].max() - low[late].min()) or 1.0)
        axes.set(
            xlabel="rows",
            ylabel="reward a row",
            xscale="log",
            ylim=(low[late].min() - room, high[late].max() + room),
        )
        logarithmic(axes.xaxis)
        axes.yaxis.set_major_formatter(tick_numeral)
    return figure


def side_by_side(found: Evaluation) -> Figure:
    """Every estimator with its interval; DM has none."""
    with house_style(**ON_A_PAGE):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        for place, name in enumerate(reversed(ESTIMATORS)):
            estimate = found[name]
            if not math.isnan(estimate.low):
                axes.hlines(
                    place, estimate.low, estimate.high, color=LOOKS[0].colour, linewidth=2.0
                )
            axes.plot(estimate.value, place, "o", color=LOOKS[0].colour, markersize=5)
        axes.axvline(found.logged, color=QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
        axes.annotate(
            "logged",
            (found.logged, 1.0),
            (3, -2),
            ("data", "axes fraction"),
            "offset points",
            color=QUIET,
            va="top",
        )
        axes.set_yticks(range(len(ESTIMATORS)), [name.upper() for name in reversed(ESTIMATORS)])
        axes.set(xlabel="reward a row", ylim=(-0.6, len(ESTIMATORS) - 0.2))
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(tick_numeral)
    return figure


def weights(found: Evaluation) -> Figure:
    """How many rows have which weight; 0 by itself."""
    counts = found.weight_counts
    used = [place for place, count in enumerate(counts) if count]
    first, last = min([place for place in used if place > 0], default=1), max(used)
    shown = list(range(max(first, 1), last + 1))
    with house_style(**ON_A_PAGE):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        places = range(len(shown) + 1)
        axes.bar(
            places,
            [counts[0], *(counts[place] for place in shown)],
            color=LOOKS[0].colour,
            width=0.86,
        )
        axes.set_xticks(
            places, ["0", *(words(place) for place in shown)], rotation=45 if len(shown) > 6 else 0
        )
        axes.set(xlabel="weight, up to", ylabel="rows")
        axes.yaxis.set_major_formatter(tick_numeral)
        axes.tick_params(axis="x", length=0, labelcolor=INK)
    return figure


def words(place: int) -> str:
    """The upper edge of a bin.

    >>> words(1), words(7), words(WEIGHT_EDGES.size)
    ('1/64', '1', 'more')
    """
    if place >= WEIGHT_EDGES.size:
        return "more"
    edge = WEIGHT_EDGES[place]
    return f"1/{1 / edge:.0f}" if edge < 1.0 else f"{edge:.0f}"
