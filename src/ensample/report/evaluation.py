"""Page of an evaluation: what each policy would have earned, how surely, and from which weights."""

import math
from collections.abc import Sequence
from textwrap import shorten

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.evaluation import Estimate, Evaluation
from ensample.evaluation.evaluation import warnings_of
from ensample.evaluation.sums import WEIGHT_EDGES
from ensample.numerals import aligned, interval, numeral, signed
from ensample.palette import INK, QUIET
from ensample.report.pages import inline_svg, render
from ensample.report.style import (
    LOOKS,
    OFFSET,
    PAGE_STYLE,
    REFERENCE,
    house_style,
    set_log_ticks,
    set_plain_ticks,
)

COLOUR = LOOKS[0].colour
LONGEST = 38  # characters of a policy that fit above its interval
WIDTH, HEIGHT = 4.0, 2.4  # inches: three figures a row


def page(found: Sequence[Evaluation], log: str) -> str:
    """Return HTML that needs nothing else: no script, no font, no picture from elsewhere."""
    first = found[0]
    return render(
        "evaluation.html.j2",
        filters={"aligned": aligned, "numeral": numeral, "signed": signed, "interval": interval},
        log=log,
        first=first,
        same_rows=len({(each.rows, each.logged) for each in found}) == 1,
        forest=forest(found) if len(found) > 1 else "",
        parts=[(f"policy-{place}", each, answer(each)) for place, each in enumerate(found)],
        draw=draw,
        warnings=warnings_of(found),
        confidence=f"{1.0 - first.alarm:.0%}",
    )


def draw(kind: str, title: str, name: str, found: Evaluation) -> Markup:
    """Draw a figure of one policy: its path, its estimators or its weights."""
    plot = {"path": plot_path, "estimators": plot_estimators, "weights": plot_weights}[kind]
    with house_style(**PAGE_STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        plot(figure.subplots(), found)
    return inline_svg(figure, f"{name}-{kind}", f"{title}: {found.target}")


def answer(found: Evaluation) -> str:
    """Return the first sentence of a policy."""
    if found.lift.low > 0.0:
        compared = "more than what was logged"
    elif found.lift.high < 0.0:
        compared = "less than what was logged"
    else:
        compared = "and the log does not say whether that is more or less than what was logged"
    return f"{found.target} would have earned {numeral(found['dr'].value)} a row, {compared}."


def forest(found: Sequence[Evaluation]) -> Markup:
    """Draw DR of every policy with its interval, and what was logged on the same rows."""
    with house_style(**PAGE_STYLE):
        figure = Figure(figsize=(WIDTH, 0.6 + 0.46 * len(found)), layout="constrained")
        axes = figure.subplots()
        for place, each in enumerate(reversed(found)):
            estimate = each["dr"]
            plot_interval(axes, place, estimate)
            axes.vlines(each.logged, place - 0.14, place + 0.14, color=QUIET, linewidth=1.4)
            numbers = f"{aligned(estimate.value)} ({interval(estimate.low, estimate.high)})"
            name = shorten(each.target, LONGEST, placeholder="...")
            for text, x, side in ((name, 0.0, "left"), (numbers, 1.0, "right")):
                above = OFFSET | {"fontsize": 7.5, "color": INK}
                axes.annotate(text, (x, place), (0, 8), ("axes fraction", "data"), ha=side, **above)
        axes.set(xlabel="reward a row", ylim=(-0.45, len(found) - 0.3))
        axes.margins(x=0.03)
        axes.yaxis.set_visible(False)
        axes.spines.left.set_visible(False)
        set_plain_ticks(axes.xaxis)
    words = "; ".join(
        f"{each.target}: {interval(each['dr'].low, each['dr'].high)}" for each in found
    )
    return inline_svg(figure, "forest", f"Reward a row by DR, with its interval: {words}")


def plot_interval(axes: Axes, place: int, estimate: Estimate) -> None:
    if not math.isnan(estimate.low):
        axes.hlines(place, estimate.low, estimate.high, color=COLOUR, linewidth=2.0)
    axes.plot(estimate.value, place, "o", color=COLOUR, markersize=5)


def plot_path(axes: Axes, found: Evaluation) -> None:
    """Plot DR with its interval after every look, and what was logged."""
    path = found.path()
    dr = path.filter(path["estimator"] == "dr")
    rows, value, low, high = (dr[name].to_numpy() for name in ("rows", "value", "low", "high"))
    axes.fill_between(rows, low, high, color=COLOUR, alpha=0.18, linewidth=0)
    axes.plot(rows, value, color=COLOUR)
    axes.axhline(found.logged, **REFERENCE)
    at = OFFSET | {"color": QUIET, "ha": "right"}
    axes.annotate("logged", (1.0, found.logged), (-2, 3), ("axes fraction", "data"), **at)
    late = rows >= rows[-1] / 100.0  # the first looks would flatten the rest
    bottom, top = low[late].min(), high[late].max()
    room = 0.06 * ((top - bottom) or 1.0)
    limits = {"xscale": "log", "ylim": (bottom - room, top + room)}
    axes.set(xlabel="rows", ylabel="reward a row", **limits)
    set_log_ticks(axes.xaxis)
    set_plain_ticks(axes.yaxis)


def plot_estimators(axes: Axes, found: Evaluation) -> None:
    """Plot every estimator with its interval; DM has none."""
    names = [*found][::-1]
    for place, name in enumerate(names):
        plot_interval(axes, place, found[name])
    axes.axvline(found.logged, **REFERENCE)
    at = OFFSET | {"color": QUIET, "va": "top"}
    axes.annotate("logged", (found.logged, 1.0), (3, -2), ("data", "axes fraction"), **at)
    axes.set_yticks(range(len(names)), [name.upper() for name in names])
    axes.set(xlabel="reward a row", ylim=(-0.6, len(names) - 0.2))
    axes.tick_params(axis="y", length=0)
    set_plain_ticks(axes.xaxis)


def plot_weights(axes: Axes, found: Evaluation) -> None:
    """Plot how many rows have which weight; 0 has a bar of its own."""
    counts = found.weight_counts
    used = [place for place, count in enumerate(counts) if count]
    first = max(min((place for place in used if place > 0), default=1), 1)
    bins = [0, *range(first, max(used) + 1)]
    axes.bar(range(len(bins)), counts[bins], color=COLOUR, width=0.86)
    labels = [edge_name(place) for place in bins]
    axes.set_xticks(range(len(bins)), labels, rotation=45 if len(bins) > 7 else 0)
    axes.set(xlabel="weight, up to", ylabel="rows")
    axes.tick_params(axis="x", length=0, labelcolor=INK)
    set_plain_ticks(axes.yaxis)


def edge_name(place: int) -> str:
    """Return the upper edge of a bin of weights.

    >>> edge_name(0), edge_name(1), edge_name(7), edge_name(WEIGHT_EDGES.size)
    ('0', '1/64', '1', 'more')
    """
    if place >= WEIGHT_EDGES.size:
        return "more"
    edge = WEIGHT_EDGES[place]
    return f"1/{1 / edge:.0f}" if 0.0 < edge < 1.0 else f"{edge:.0f}"
