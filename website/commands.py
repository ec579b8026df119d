"""Write `--help` of every command as a page: python website/commands.py docs/reference/cli.md."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from ensample.cli.main import COMMANDS, app

__all__ = ["COLUMNS", "page"]

COLUMNS = "80"
OPENING = """# The command line

`ensample COMMAND --help`, of every command. The commands are a skin over the Python API.
"""


def page(told: Callable[[str], str]) -> str:
    """The whole page, of what each command says of itself to a terminal of 80 columns."""
    commands = ["", *COMMANDS]
    return OPENING + "".join(section(command, told(command)) for command in commands)


def section(command: str, told: str) -> str:
    lines = "\n".join(line.rstrip() for line in told.splitlines())
    return f"\n## {f'ensample {command}'.strip()}\n\n```text\n{lines.strip()}\n```\n"


def at_once(command: str) -> str:
    """In this process: sixteen others would take half a minute."""
    return CliRunner().invoke(app, [*command.split(), "--help"], prog_name="ensample").output


if __name__ == "__main__":
    os.environ |= {
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": COLUMNS,
    }  # before a command is imported, which looks at these
    Path(sys.argv[1]).write_text(page(at_once), encoding="utf-8")
