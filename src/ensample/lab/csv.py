"""Frames as CSV that is safe to open in a spreadsheet."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars


FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
)  # what a spreadsheet takes for the beginning of one


def as_csv(frame: "polars.DataFrame") -> bytes:
    """Return CSV in which no text is a formula: an apostrophe precedes one that looks like it.

    >>> import polars
    >>> table = {"label": ["=1+1", "ES", "-0.5"], "mean": [-1.5, 2.0, 3.0]}
    >>> print(as_csv(polars.DataFrame(table)).decode())
    label,mean
    '=1+1,-1.5
    ES,2.0
    -0.5,3.0
    <BLANKLINE>
    """
    return frame.with_columns(*map(harmless, frame.iter_columns())).write_csv().encode()


def harmless(column: "polars.Series") -> "polars.Series":
    import polars

    if column.dtype != polars.String:
        return column
    texts = [
        f"'{text}" if text and text.startswith(FORMULA) and not is_number(text) else text
        for text in column
    ]
    return polars.Series(column.name, texts, polars.String)


def is_number(text: str) -> bool:
    """In a column of text too: an axis may have numbers and words."""
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
