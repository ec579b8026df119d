"""The look of every figure: matplotlib settings, and colours in pairs for light and dark pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib

from ensample.palette import COLOURS, HEAT_COLOURS, INK, QUIET, RAMP_COLOURS, RULE, Pair, variables

__all__ = [
    "BANDS",
    "HEAT",
    "INK",
    "LOOKS",
    "ON_A_PAGE",
    "QUIET",
    "RULE",
    "LineStyle",
    "Pair",
    "house_style",
    "ramp",
    "variables",
]

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


class LineStyle(NamedTuple):
    """How a line is drawn and how the page calls its colour."""

    variable: str
    colour: str  # on a light page
    dashes: Any = "-"
    marker: str = "o"

    @property
    def above(self) -> float:
        """matplotlib's zorder: a line with gaps over one without, so that both are seen where they coincide."""
        return 2.0 if self.dashes == "-" else 2.1


LONG, SHORT = (0, (5, 1.5)), (0, (2.5, 1.2))
DASHES: tuple[Any, ...] = ("-", "-", "-", "-", LONG, SHORT, "-", SHORT, LONG, SHORT)
MARKERS = "osD^vPX<>h"
LOOKS = tuple(
    LineStyle(f"--s{place}", pair.light, dashes, marker)
    for place, (pair, dashes, marker) in enumerate(zip(COLOURS, DASHES, MARKERS, strict=True))
)
RAMP = tuple(LineStyle(f"--r{place}", pair.light) for place, pair in enumerate(RAMP_COLOURS))
HEAT = tuple(LineStyle(f"--h{place}", pair.light) for place, pair in enumerate(HEAT_COLOURS))
BANDS = (
    0.0,
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    1e-2,
    3e-2,
    0.1,
    0.3,
    1.0,
)  # shares of the rounds between which HEAT changes

# Of figures inside pages: text and axes in the page's own colours, and a dollar in a policy's name is a dollar.
ON_A_PAGE: dict[str, Any] = {"text.parse_math": False}
ON_A_PAGE |= dict.fromkeys(
    ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK
)
ON_A_PAGE |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), QUIET)


def ramp(steps: int) -> list[LineStyle]:
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
