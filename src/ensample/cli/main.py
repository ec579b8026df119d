"""`ensample`: the entry point. A command is imported when it is called, so that help comes at
once.
"""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from ensample.cli.options import as_command
from ensample.version import __version__

INTERRUPTED = 130  # the exit code that typer makes of Ctrl-C
STRICT = ("strict", "surrogateescape")  # ways of output to meet letters that it lacks
COMMANDS = {
    "demo": (
        "demo",
        "An experiment on handwritten digits, and what its log says of other policies.",
    ),
    "race": ("race", "Race policies on one problem: a table of their regret and a figure."),
    "plan": (
        "plan",
        "What the theorems prescribe: radius, scale, ensemble size, bounds, and from when on they "
        "say anything.",
    ),
    "measure": (
        "measure",
        "Measure gamma and p of the general theorem for policies on one problem, and what its "
        "bound then says.",
    ),
    "run": (
        "studies",
        "Run a study, or the part of it that is not finished yet: kill it when you like, and run "
        "it again.",
    ),
    "studies": ("studies", "List the studies that come with the package."),
    "report": ("studies", "Write the results of a study as one self-contained page."),
    "evaluate": ("evaluate", "What other policies would have earned on a log."),
    "serve": ("service", "Serve experiments over HTTP: durable, with keys, metrics and a log."),
    "key": ("service", "Make, list or revoke keys of the service."),
    "replay": (
        "service",
        "Fold the events of a service's experiments again, and compare the hashes.",
    ),
    "backup": ("service", "Copy all that a service keeps into one file, while it runs."),
    "migrate": ("service", "Carry experiments of an earlier version over to this one."),
    "verify": ("verify", "Check the paper's statements: what is measured against what is claimed."),
}
"""Of each command, its module here and the first sentence of its function's docstring."""

SETTINGS: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "rich_markup_mode": "markdown",
}


class Command(TyperCommand):
    """A command as typer makes it from a function, whose flags show as flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_flag(param) for param in super().get_params(ctx)]


class LazyCommand(TyperCommand):
    """Name and first sentence of a command whose module is not imported yet."""

    def __init__(self, name: str, module: str, sentence: str) -> None:
        super().__init__(name, help=sentence, rich_markup_mode="markdown")
        self.module = f"ensample.cli.{module}"

    def load(self) -> TyperCommand:
        alone = typer.Typer(add_completion=False, **SETTINGS)
        function = getattr(import_module(self.module), str(self.name))
        alone.command(cls=Command)(as_command(function))
        command = typer.main.get_command(alone)
        assert isinstance(command, TyperCommand)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse, help and complete as the command itself."""
        return self.load().make_context(info_name, args, parent, **extra)


class LazyCommands(TyperGroup):
    """All commands, in the order of the help."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, (module, sentence) in COMMANDS.items():
            self.add_command(LazyCommand(name, module, sentence))

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_flag(param) for param in super().get_params(ctx)]


def as_flag(param: Any) -> Any:
    """Show an option without a value without a type: `--json`, not `--json <bool>`."""
    if getattr(param, "is_flag", False) and param.metavar is None:
        param.metavar = ""
    return param


app = typer.Typer(
    name="ensample",
    help="Ensemble sampling for decisions.",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    **SETTINGS,
)


def show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ensample {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Ensemble sampling for decisions: keep many models, act greedily on one of them each round."""


def main() -> None:
    """Run the command line; an error of ours is one line, not a traceback."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors in STRICT:
        sys.stdout.reconfigure(errors="replace")  # letters that it lacks (LC_ALL=C) become "?"
    try:
        app()
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            from ensample.cli.console import errors

            errors.print("stopped")
        raise
    except Exception as error:
        from ensample.errors import EnsampleError

        if isinstance(error, UnicodeEncodeError):  # of a file's name: what is printed has "?"
            complain(
                f"{error.object!r} cannot name a file where the encoding is {error.encoding}: "
                "set LC_ALL=C.UTF-8"
            )
        if isinstance(error, EnsampleError | MemoryError | OSError):
            complain(str(error) or "not enough memory for this")
        raise


def complain(message: str) -> NoReturn:
    from ensample.cli.console import errors

    errors.print("error:", style="bold red", end=" ")
    errors.print_text(message)
    sys.exit(2)
