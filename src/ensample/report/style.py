"""Style of every figure: matplotlib settings, looks of lines, and plain numbers on axes."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter

from ensample.numerals import numeral
from ensample.palette import COLOURS, HEAT_COLOURS, INK, QUIET, RAMP_COLOURS

STYLE: Any = matplotlib.rc_params_from_file(
    Path(__file__).with_name("house.mplstyle"), use_default_template=False
)
# Figures inside pages: text and axes in the page's colours; a dollar in a name is a dollar.
PAGE_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
OFFSET: dict[str, Any] = {"textcoords": "offset points"}  # words beside a point
BAND: dict[str, Any] = {"linewidth": 0}
SMALL: dict[str, Any] = {"color": QUIET, "fontsize": 7.5}
REFERENCE: dict[str, Any] = {"color": QUIET, "linewidth": 0.9, "linestyle": (0, (3, 2))}
SQUARE_ROOT: dict[str, Any] = REFERENCE | {"linestyle": (0, (1, 1.5))}


class LineStyle(NamedTuple):
    """Look of a line; pages call its colour by the name of a CSS variable."""

    variable: str
    colour: str  # on a light page
    dashes: Any = "-"
    marker: str = "o"

    @property
    def of_line(self) -> dict[str, Any]:
        """Arguments of `Axes.plot`. Dashed lines are above solid ones, so that both show."""
        above = 2.0 if self.dashes == "-" else 2.1
        return {"color": self.colour, "linestyle": self.dashes, "zorder": above}


LONG, SHORT = (0, (5, 1.5)), (0, (2.5, 1.2))
DASHES: tuple[Any, ...] = ("-", "-", "-", "-", LONG, SHORT, "-", SHORT, LONG, SHORT)
MARKERS = "osD^vPX<>h"
LOOKS = tuple(
    LineStyle(f"--s{place}", pair.light, dashes, marker)
    for place, (pair, dashes, marker) in enumerate(zip(COLOURS, DASHES, MARKERS, strict=True))
)
RAMP = tuple(LineStyle(f"--r{place}", pair.light) for place, pair in enumerate(RAMP_COLOURS))
HEAT = tuple(LineStyle(f"--h{place}", pair.light) for place, pair in enumerate(HEAT_COLOURS))
HEAT_EDGES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)  # shares between colours


def ramp(steps: int) -> list[LineStyle]:
    """Return evenly spaced steps of the ramp.

    >>> [look.variable for look in ramp(3)]
    ['--r0', '--r3', '--r6']
    """
    last = len(RAMP) - 1
    return [RAMP[round(place * last / max(steps - 1, 1))] for place in range(steps)]


@contextmanager
def house_style(**more: Any) -> Iterator[None]:
    """Draw with our settings, whatever the user's own are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | more)
        yield


def tick_numeral(x: float, place: object = None) -> str:
    """Format a number beside an axis, as matplotlib asks for it.

    >>> tick_numeral(300.0), tick_numeral(1e6), tick_numeral(3e-5)
    ('300', '10⁶', '3 × 10⁻⁵')
    """
    return numeral(x, 6, most=1e6)


def set_plain_ticks(*axes: Axis) -> None:
    for axis in axes:
        axis.set_major_formatter(tick_numeral)


def set_log_ticks(*axes: Axis) -> None:
    """Set ticks of logarithmic axes at plain numbers, as many as there is room for."""
    for axis in axes:
        low, high = axis.get_view_interval()
        decades = math.log10(high / low) if low > 0.0 else 9.0
        subs = (1.0, 2.0, 5.0) if decades < 2.0 else (1.0, 3.0) if decades < 3.0 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=8))
        axis.set_major_formatter(tick_numeral)
        axis.set_minor_formatter(NullFormatter())


def plot_square_root(axes: Axes, first: float, last: float, lowest: float) -> None:
    """Plot the proved rate: a line of slope 1/2 below curves that are at least `lowest` sqrt(T)."""
    if lowest <= 0.0 or first == last:
        return  # no room below on logarithmic axes, or nothing to span
    rounds = np.array([first, last], float)
    heights = 0.75 * lowest * np.sqrt(rounds)
    axes.plot(rounds, heights, **SQUARE_ROOT)
    middle = float(np.sqrt(rounds.prod())), float(np.sqrt(heights.prod()))
    axes.annotate("∝ √T", middle, (3, -2), textcoords="offset points", va="top", color=QUIET)
