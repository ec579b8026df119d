"""The look of every figure: matplotlib settings, and colours in pairs for light and dark pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib

__all__ = ["BANDS", "HEAT", "INK", "LOOKS", "ON_A_PAGE", "QUIET", "RULE", "Look", "Pair", "house_style", "ramp", "variables"]

STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.4,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "savefig.dpi": 300,
    "svg.hashsalt": "ensample",
}


class Pair(NamedTuple):
    """A colour on a light page and on a dark one."""

    light: str
    dark: str


class Look(NamedTuple):
    """How a line is drawn and how the page calls its colour."""

    variable: str
    colour: str  # on a light page
    dashes: Any = "-"
    marker: str = "o"

    @property
    def above(self) -> float:
        """matplotlib's zorder: a line with gaps over one without, so that both are seen where they coincide."""
        return 2.0 if self.dashes == "-" else 2.1


# Every colour has a contrast of 3 or more with its page; neighbours differ in lightness too.
COLOURS = (
    Pair("#2b76b5", "#6db3e8"),
    Pair("#c75b00", "#f0924a"),
    Pair("#117733", "#55b878"),
    Pair("#b0419b", "#d987c8"),
    Pair("#1c1c1f", "#f2f2f0"),
    Pair("#9a6f00", "#e0b43c"),
    Pair("#1b2f73", "#9db0f2"),
    Pair("#1a857b", "#5cc9bc"),
    Pair("#b3261e", "#f28b82"),
    Pair("#757575", "#a3a3a3"),
)
LONG, SHORT = (0, (5, 1.5)), (0, (2.5, 1.2))
DASHES: tuple[Any, ...] = ("-", "-", "-", "-", LONG, SHORT, "-", SHORT, LONG, SHORT)
MARKERS = "osD^vPX<>h"
LOOKS = tuple(
    Look(f"--s{place}", pair.light, dashes, marker)
    for place, (pair, dashes, marker) in enumerate(zip(COLOURS, DASHES, MARKERS, strict=True))
)
# From few to many: lightness falls on a light page and hue turns, so that steps show in print and to the colour-blind.
RAMP_COLOURS = (
    Pair("#d07c00", "#ffd166"),
    Pair("#cc5a35", "#f9a65a"),
    Pair("#bb3f61", "#f07f68"),
    Pair("#9b3082", "#e0709a"),
    Pair("#742c96", "#c07ad0"),
    Pair("#4a2d92", "#9a8be8"),
    Pair("#1f2a79", "#7fa2f5"),
)
RAMP = tuple(Look(f"--r{place}", pair.light) for place, pair in enumerate(RAMP_COLOURS))
HEAT_COLOURS = (
    Pair("#f1f5f9", "#1b2129"),
    Pair("#dce8f3", "#1f2f40"),
    Pair("#bfd7ea", "#234058"),
    Pair("#98c1de", "#285574"),
    Pair("#6ba5cd", "#316e95"),
    Pair("#4285b8", "#4489b3"),
    Pair("#2a669c", "#68a7cc"),
    Pair("#1a4878", "#98c8e2"),
    Pair("#0f2c52", "#d3ecf8"),
)
HEAT = tuple(Look(f"--h{place}", pair.light) for place, pair in enumerate(HEAT_COLOURS))
BANDS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)  # shares of the rounds between which HEAT changes

INK, QUIET, RULE, PAPER = "#16181d", "#565d69", "#d6dae1", "#fdfdfc"
TEXT = {"--ink": Pair(INK, "#e7e9ee"), "--quiet": Pair(QUIET, "#a2a9b6"), "--rule": Pair(RULE, "#343a45")}
TEXT |= {"--paper": Pair(PAPER, "#14171c")}
# Of figures inside pages: text and axes in the page's own colours, and a dollar in a policy's name is a dollar.
ON_A_PAGE: dict[str, Any] = {"text.parse_math": False}
ON_A_PAGE |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK)
ON_A_PAGE |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), QUIET)


def variables() -> dict[str, Pair]:
    """Every colour by the name that the page gives it."""
    drawn = {"s": COLOURS, "r": RAMP_COLOURS, "h": HEAT_COLOURS}
    return TEXT | {f"--{key}{place}": pair for key, pairs in drawn.items() for place, pair in enumerate(pairs)}


def ramp(steps: int) -> list[Look]:
    """Evenly spaced steps of the ramp.

    >>> [look.variable for look in ramp(3)]
    ['--r0', '--r3', '--r6']
    """
    last = len(RAMP) - 1
    return [RAMP[round(place * last / max(steps - 1, 1))] for place in range(steps)]


@contextmanager
def house_style(**more: Any) -> Iterator[None]:
    """Our settings, whatever the user's own are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | more)
        yield
