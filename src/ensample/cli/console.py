"""Where the commands print."""

import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ensample.errors import InvalidArgument

__all__ = ["check_file", "errors", "output", "progress"]

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


def check_file(option: str, path: Path) -> None:
    """Raise, before the work, unless a file can be written at `path`; nothing is created."""
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidArgument(option, str(path), "a file that can be written, in a folder that exists")
