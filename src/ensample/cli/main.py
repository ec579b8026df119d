"""`ensample`: the entry point."""

import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from ensample.cli.bench import bench
from ensample.cli.console import errors
from ensample.cli.plan import plan
from ensample.cli.race import race
from ensample.cli.report import report
from ensample.cli.run import run, studies
from ensample.cli.verify import verify
from ensample.errors import EnsampleError, LiveSimulationWarning
from ensample.version import __version__

__all__ = ["app", "main"]

INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="ensample",
    help="Ensemble sampling for decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(race)
app.command()(plan)
app.command()(run)
app.command()(studies)
app.command()(report)
app.command()(verify)
app.command()(bench)


def show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ensample {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Ensemble sampling for decisions: keep many models, act greedily on one of them each round."""


def complain(message: str) -> NoReturn:
    errors.print("error:", style="bold red", end=" ")
    errors.print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)


def say_warnings_of_ours(usual: Any) -> Any:
    """In one line, without the place in the code; others as usual."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, LiveSimulationWarning):
            errors.print(f"note: {message}", markup=False, highlight=False, soft_wrap=True)
        else:
            usual(message, category, *place, **more)

    return show


def main() -> None:
    """Run the command line; an error of ours is one line, not a traceback."""
    warnings.showwarning = say_warnings_of_ours(warnings.showwarning)
    try:
        app()
    except EnsampleError as error:
        complain(str(error))
    except (MemoryError, OSError) as error:
        complain(str(error) or "not enough memory for this")
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            errors.print("stopped")
        raise
