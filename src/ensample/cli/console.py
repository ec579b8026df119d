"""Output of the commands: tables, warnings, errors and progress bars."""

import json
import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

PATIENCE = 2.0  # seconds before a bar appears that few need
UNSEEN = re.compile(  # moves the cursor, begins an escape sequence, turns text, or is no character
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text with its control characters written out.

    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def label(text: str) -> str:
    """Return somebody's words for the cell of a table, where square brackets are markup."""
    return escape(visible(text).replace("\n", "\\n").replace("\t", "\\t"))


class SafeConsole(Console):
    """A console to which no text can send control characters. Colours are rich's own."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def print_text(self, text: str, style: str | None = None) -> None:
        """Print a text as it is, without a break where the terminal ends."""
        self.print(text, markup=False, highlight=False, soft_wrap=True, style=style)


# Into a file or a pipe there is no edge to wrap at.
output = SafeConsole(
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160, emoji=False
)
errors = SafeConsole(stderr=True, emoji=False)


def print_paths(paths: Iterable[Path]) -> None:
    for path in paths:
        output.print_text(str(path))


def print_json(data: Any) -> None:
    """Print data for programs; NaN, for which JSON has no word, is a mistake."""
    sys.stdout.write(f"{json.dumps(data, indent=2, allow_nan=False)}\n")


def table(*columns: str, numbers: Iterable[str] = (), title: str = "", caption: str = "") -> Table:
    """Return a table with columns of text, then columns of numbers."""
    made = Table(
        *columns,
        title=title or None,
        title_justify="left",
        caption=caption or None,
        caption_justify="left",
    )
    for column in numbers:
        made.add_column(column, justify="right")
    return made


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Print Python's warnings as lines."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = Text.assemble(("warning:", "bold yellow"), f" {visible(str(message))}")
        errors.print(text, soft_wrap=True)  # at once: several threads may warn

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


class Bars:
    """Progress bars on the error stream; silent where that is no terminal.

    With `patience` they appear after so many seconds only. With `unit` they show a speed.
    """

    def __init__(self, patience: float = 0.0, unit: str = "") -> None:
        count = MofNCompleteColumn() if not unit else TextColumn("{task.percentage:>3.0f}%")
        speed = [Speed(unit), TimeElapsedColumn()] if unit else []
        self.patience, self.start = patience, time.monotonic()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            count,
            *speed,
            TimeRemainingColumn(),
            console=errors,
            disable=not errors.is_terminal,
        )

    def add(self, name: str, total: float | None = None) -> "Bar":
        """Return a new bar; its time starts when it first moves."""
        return Bar(self, self.progress.add_task(escape(name), start=False, total=total))

    def __enter__(self) -> "Bars":
        if not self.patience:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()


class Bar:
    """One of several progress bars."""

    def __init__(self, bars: Bars, task: Any) -> None:
        self.bars, self.task = bars, task

    def show(self, done: float, total: float | None = None) -> None:
        bars = self.bars
        is_due = time.monotonic() - bars.start > bars.patience
        if is_due and not bars.progress.live.is_started:
            bars.progress.start()
        bars.progress.start_task(self.task)
        known = {} if total is None else {"total": total}
        bars.progress.update(self.task, completed=done, **known)  # type: ignore[arg-type]

    def step(self) -> None:
        self.bars.progress.start_task(self.task)
        self.bars.progress.advance(self.task)

    def rename(self, name: str) -> None:
        self.bars.progress.update(self.task, description=escape(name))


class Speed(ProgressColumn):
    """The speed of the last seconds."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f} {self.unit}")


def as_typed(argument: str) -> str:
    """Return the text that was meant: a locale without its letters hands over bytes in disguise.

    >>> as_typed("Gr\\udcc3\\udcb6\\udcc3\\udc9fe"), as_typed("as it is")
    ('Größe', 'as it is')
    """
    try:
        return argument.encode(errors="surrogateescape").decode()
    except UnicodeError:
        return argument
