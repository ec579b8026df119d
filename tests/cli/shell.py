"""Commands as one types them."""

import shlex
import subprocess
from pathlib import Path

import prompt


def run(
    words: str, folder: Path | None = None, width: int = 120
) -> "subprocess.CompletedProcess[str]":
    """Run `ensample WORDS` in a folder, or in an empty one."""
    return prompt.ensample(*shlex.split(words), folder=folder, COLUMNS=width, **prompt.PLAIN)


def refused(words: str, folder: Path | None = None) -> str:
    """Return the error of a command that cannot be: one line, and nothing else printed."""
    done = run(words, folder)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    return done.stderr
