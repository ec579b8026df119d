"""Where the commands print."""

import os
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["errors", "output", "progress"]

# Into a file or a pipe there is no edge to wrap at.
output = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160)
errors = Console(stderr=True)


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
