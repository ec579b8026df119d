"""HTML that notebooks show instead of a `repr`: tables and sparklines in the colours of the page.

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

WIDTH, HEIGHT, MARGIN = 160, 36, 2  # pixels of a sparkline
WINDOWS = 60  # whose means a sparkline shows
POINTS = 200  # of a sparkline: more than it has pixels


class Markup(str):
    """Text that is HTML already."""


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with numbers on the right.

    >>> table(["a"], [[1.5], ["<b>"]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(given: Mapping[str, Any]) -> str:
    """Return a table of names and values."""
    left = "text-align:left"
    rows = "".join(
        f'<tr><th style="{left};white-space:nowrap">{escape(name)}</th>'
        f'<td style="{left}">{text(item)}</td></tr>'
        for name, item in given.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def cell(item: Any) -> str:
    is_number = isinstance(item, int | float) and not isinstance(item, bool)
    return f'<td style="text-align:{"right" if is_number else "left"}">{text(item)}</td>'


def text(item: Any) -> str:
    if isinstance(item, Markup):
        return item
    if isinstance(item, bool) or not isinstance(item, int | float):
        return escape(str(item))
    return "" if math.isnan(item) else numeral(item, 4)


def code(item: object) -> Markup:
    """Return an object's `repr` as code."""
    return Markup(f"<code>{escape(repr(item))}</code>")


def brief(item: Any) -> Markup:
    """Return a description as code, without the fields that have their defaults.

    >>> from ensample.perturbations import Gaussian
    >>> brief(Gaussian(2.0)), brief(Gaussian())
    ('<code>Gaussian(scale=2.0)</code>', '<code>Gaussian()</code>')
    """
    return Markup(f"<code>{escape(typed(item))}</code>")


def typed(item: Any) -> str:
    """Return `brief` in plain text; an object with a `repr` of its own keeps it."""
    name = type(item).__name__
    if not is_dataclass(item) or not repr(item).startswith(f"{name}("):
        return repr(item)
    given = [
        f"{field.name}={getattr(item, field.name)!r}"
        for field in fields(item)
        if field.repr and not usual(item, field)
    ]
    return f"{name}({', '.join(given)})"


def usual(item: Any, field: "Field[Any]") -> bool:
    """Return whether a field of a dataclass has its default."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return bool(getattr(item, field.name) == default)


def in_windows(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where successive windows end, and their means, for a sparkline."""
    ends = np.unique(np.linspace(0, values.size, min(values.size, WINDOWS) + 1).astype(np.int64))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return ends[1:].astype(float), np.diff(sums[ends]) / np.diff(ends)


def and_more(count: int, what: str) -> str:
    """Return what a table leaves out.

    >>> and_more(2, "arm"), and_more(1, "arm"), and_more(0, "arm")
    ('<p>and 2 more arms</p>', '<p>and 1 more arm</p>', '')
    """
    return f"<p>and {count:,} more {what}{'s' if count > 1 else ''}</p>" if count else ""


def bar(share: float) -> Markup:
    """Return a share between 0 and 1 as a bar, with its number.

    >>> "37.5%" in bar(0.375)
    True
    """
    rectangle = '<rect width="{}" height="9" fill="currentColor" fill-opacity="{}"/>'
    parts = rectangle.format(60, 0.15) + rectangle.format(f"{60.0 * share:.1f}", 0.6)
    opening = '<svg width="60" height="9" viewBox="0 0 60 9" aria-hidden="true">'
    return Markup(f"{opening}{parts}</svg> {100.0 * share:.1f}%")


def sparkline(
    x: FloatArray | IntArray,
    y: FloatArray,
    label: str,
    band: tuple[FloatArray, FloatArray] | None = None,
    base: float | None = None,
) -> Markup:
    """Return a line over x >= 0, above a band; the lowest value is at the bottom, or `base`."""
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
        outline = " ".join(points(band[0]) + points(band[1])[::-1])
        shade = f'<polygon points="{outline}" fill="currentColor" fill-opacity="0.2"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    stroke = 'fill="none" stroke="currentColor" stroke-width="1.5"'
    return Markup(
        f'<svg {size} role="img" aria-label="{escape(label)}">{shade}'
        f'<polyline points="{" ".join(points(y))}" {stroke}/></svg>'
    )
