"""What axes share: numbers beside them, and the rate that the theorems prove."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter

from ensample.numerals import numeral
from ensample.report.drawing.style import QUIET


def tick_numeral(x: float, place: object = None) -> str:
    """A number beside an axis, as matplotlib asks for it.

    >>> tick_numeral(300.0), tick_numeral(1e6), tick_numeral(3e-5)
    ('300', '10⁶', '3 × 10⁻⁵')
    """
    return numeral(x, 6, most=1e6)


def logarithmic(axis: Axis) -> None:
    """Ticks as plain numbers, as many as there is room for."""
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if low > 0.0 else 9.0
    subs = (1.0, 2.0, 5.0) if decades < 2.0 else (1.0, 3.0) if decades < 3.0 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(tick_numeral)
    axis.set_minor_formatter(NullFormatter())


def square_root(axes: Axes, first: float, last: float, lowest: float) -> None:
    """A line of slope one half from round `first` to `last`, below curves that nowhere fall under `lowest` sqrt(T)."""
    if lowest <= 0.0 or first == last:
        return  # no room below on logarithmic axes, or nothing to span
    rounds = np.array([first, last], float)
    heights = 0.75 * lowest * np.sqrt(rounds)
    axes.plot(rounds, heights, color=QUIET, linewidth=0.9, linestyle=(0, (1, 1.5)))
    middle = float(np.sqrt(rounds.prod())), float(np.sqrt(heights.prod()))
    axes.annotate("∝ √T", middle, (3, -2), textcoords="offset points", va="top", color=QUIET)
