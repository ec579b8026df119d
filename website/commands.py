"""Write `--help` of every command as a page: python website/commands.py docs/reference/cli.md."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.testing import CliRunner

__all__ = ["page"]

COLUMNS = "80"
OPENING = """# The command line

`ensample COMMAND --help`, of every command. The commands are a skin over the Python API.
"""


def page(app: typer.Typer) -> str:
    """The whole page, as a terminal of 80 columns shows it."""
    commands = typer.main.get_command(app)
    return OPENING + "".join(section(app, words) for words in paths(commands, typer.Context(commands)))


def paths(command: object, context: typer.Context, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of each command, a group before its own."""
    yield before
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from paths(command.get_command(context, name), context, (*before, name))


def section(app: typer.Typer, words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="ensample", env={"COLUMNS": COLUMNS}).output
    lines = "\n".join(line.rstrip() for line in shown.splitlines())
    return f"\n## {' '.join(('ensample', *words))}\n\n```text\n{lines.strip()}\n```\n"


if __name__ == "__main__":
    os.environ |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": COLUMNS, "TERMINAL_WIDTH": COLUMNS}
    from ensample.cli.main import app

    Path(sys.argv[1]).write_text(page(app), encoding="utf-8")
