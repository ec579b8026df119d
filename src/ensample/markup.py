"""What notebooks show instead of a `repr`: small tables and sparklines, in whatever colours the page has.

All text is escaped: names of actions, labels and recipes may be anybody's.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from ensample.numerals import numeral
from ensample.types import FloatArray, IntArray

WIDTH, HEIGHT, MARGIN = 160, 36, 2
WINDOWS = 60  # that it shows the means of
POINTS = 200  # of a sparkline: more than it has pixels


class Markup(str):
    """Text that is HTML already."""


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers on the right.

    >>> table(["a"], [[1.5], ["<b>"]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(given: Mapping[str, Any]) -> str:
    """A table of names and what they are."""
    named = '<tr><th style="text-align:left;white-space:nowrap">{}</th><td style="text-align:left">{}</td></tr>'
    rows = "".join(named.format(escape(name), text(item)) for name, item in given.items())
    return f"<table><tbody>{rows}</tbody></table>"


def cell(item: Any) -> str:
    side = "right" if isinstance(item, int | float) and not isinstance(item, bool) else "left"
    return f'<td style="text-align:{side}">{text(item)}</td>'


def text(item: Any) -> str:
    if isinstance(item, Markup):
        return item
    if isinstance(item, bool) or not isinstance(item, int | float):
        return escape(str(item))
    return "" if math.isnan(item) else numeral(item, 4)


def code(item: object) -> Markup:
    """As one would type it."""
    return Markup(f"<code>{escape(repr(item))}</code>")


def brief(item: Any) -> Markup:
    """A description as one would type it: the fields that are not as they would be by themselves.

    >>> from ensample.perturbations import Gaussian
    >>> brief(Gaussian(2.0)), brief(Gaussian())
    ('<code>Gaussian(scale=2.0)</code>', '<code>Gaussian()</code>')
    """
    return Markup(f"<code>{escape(typed(item))}</code>")


def typed(item: Any) -> str:
    """As `brief`, in plain text."""
    if not is_dataclass(item) or not repr(item).startswith(
        f"{type(item).__name__}("
    ):  # else it has words of its own
        return repr(item)
    given = [
        f"{field.name}={getattr(item, field.name)!r}"
        for field in fields(item)
        if field.repr and not usual(item, field)
    ]
    return f"{type(item).__name__}({', '.join(given)})"


def usual(item: Any, field: "Field[Any]") -> bool:
    """Whether a field of a dataclass has its default."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return bool(getattr(item, field.name) == default)


def in_windows(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over successive parts, for a sparkline: (how many there were, the mean since the part before)."""
    ends = np.unique(np.linspace(0, values.size, min(values.size, WINDOWS) + 1).astype(np.int64))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return ends[1:].astype(float), np.diff(sums[ends]) / np.diff(ends)


def and_more(count: int, what: str) -> str:
    """What a table leaves out.

    >>> and_more(2, "arm"), and_more(1, "arm"), and_more(0, "arm")
    ('<p>and 2 more arms</p>', '<p>and 1 more arm</p>', '')
    """
    return f"<p>and {count:,} more {what}{'s' if count > 1 else ''}</p>" if count else ""


def bar(share: float) -> Markup:
    """A share between 0 and 1, with its number.

    >>> "37.5%" in bar(0.375)
    True
    """
    return Markup(
        f'<svg width="60" height="9" viewBox="0 0 60 9" aria-hidden="true"><rect width="60" height="9" fill="currentColor" '
        f'fill-opacity="0.15"/><rect width="{60.0 * share:.1f}" height="9" fill="currentColor" fill-opacity="0.6"/></svg> '
        f"{100.0 * share:.1f}%"
    )


def sparkline(
    x: FloatArray | IntArray,
    y: FloatArray,
    label: str,
    band: tuple[FloatArray, FloatArray] | None = None,
    base: float | None = None,
) -> Markup:
    """A line over x >= 0, above a band where there is one; the lowest value is at the bottom, or `base`."""
    some = np.unique(np.linspace(0, x.size - 1, min(x.size, POINTS)).astype(np.int64))
    heights = np.concatenate([y, *(band or ())])
    low = float(heights.min()) if base is None else base
    span = float(heights.max()) - low or 1.0

    def points(values: FloatArray) -> list[str]:
        across = MARGIN + (WIDTH - 2 * MARGIN) * x[some] / float(x[-1])
        down = MARGIN + (HEIGHT - 2 * MARGIN) * (1.0 - (values[some] - low) / span)
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), down.tolist(), strict=True)]

    shade = ""
    if band is not None:
        around = " ".join(points(band[0]) + points(band[1])[::-1])
        shade = f'<polygon points="{around}" fill="currentColor" fill-opacity="0.2"/>'
    return Markup(
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{shade}'
        f'<polyline points="{" ".join(points(y))}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
