"""Colours of figures and pages, in pairs for light and dark ones; pages call them by name."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A colour on a light page and on a dark one."""

    light: str
    dark: str


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
# From few to many: lightness falls on a light page and hue turns, so that steps show in print and
# to the colour-blind.
RAMP_COLOURS = (
    Pair("#d07c00", "#ffd166"),
    Pair("#cc5a35", "#f9a65a"),
    Pair("#bb3f61", "#f07f68"),
    Pair("#9b3082", "#e0709a"),
    Pair("#742c96", "#c07ad0"),
    Pair("#4a2d92", "#9a8be8"),
    Pair("#1f2a79", "#7fa2f5"),
)
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

INK, QUIET, RULE, PAPER = "#16181d", "#565d69", "#d6dae1", "#fdfdfc"
TEXT = {
    "--paper": Pair(PAPER, "#14171c"),
    "--ink": Pair(INK, "#e7e9ee"),
    "--quiet": Pair(QUIET, "#a2a9b6"),
    "--rule": Pair(RULE, "#343a45"),
}


def variables() -> dict[str, Pair]:
    """Return every colour by its name in style sheets."""
    drawn = {"s": COLOURS, "r": RAMP_COLOURS, "h": HEAT_COLOURS}
    return TEXT | {
        f"--{key}{place}": pair for key, pairs in drawn.items() for place, pair in enumerate(pairs)
    }


def sheet() -> str:
    """Return a style sheet that follows what the reader prefers; paper is light."""
    light, dark = (
        "".join(f"{name}:{pair[place]};" for name, pair in variables().items()) for place in (0, 1)
    )
    media = "@media screen and (prefers-color-scheme:dark)"
    return f":root{{color-scheme:light dark;{light}}}\n{media}{{:root{{{dark}}}}}\n"
