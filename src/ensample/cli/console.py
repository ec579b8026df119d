"""Where the commands print."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

# What moves the cursor, starts an escape sequence, turns the writing direction or is no character at all.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""The text with such characters written out.

    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def label(text: str) -> str:
    """Somebody's words as they are, on one line: for tables, where square brackets are markup."""
    return escape(visible(text).replace("\n", "\\n").replace("\t", "\\t"))


class SafeConsole(Console):
    """A console to which no text can send control characters: all of it goes through here. Colours are rich's own."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


# Into a file or a pipe there is no edge to wrap at.
output = SafeConsole(
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160, emoji=False
)
errors = SafeConsole(stderr=True, emoji=False)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Python's warnings as lines of ours."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        said = Text.assemble(("warning:", "bold yellow"), f" {visible(str(message))}")
        errors.print(said, soft_wrap=True)  # at once: several threads may warn

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def progress() -> Progress:
    """A progress bar on the error stream, silent where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        disable=not errors.is_terminal,
    )
