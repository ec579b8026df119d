"""`ensample`: the entry point. It imports a command when it is asked for, and nothing else: help comes at once."""

import sys
from typing import Annotated, NoReturn

import typer

from ensample.cli.commands import SETTINGS, Commands, Later
from ensample.cli.letters import show_what_can_be_shown
from ensample.version import __version__

INTERRUPTED = 130  # what typer makes of Ctrl-C


class OurCommands(Commands):
    """Each command is a function of its name; the sentence is the first of what it says of itself."""

    later = (
        Later(
            "demo",
            "ensample.cli.demo",
            "An experiment on handwritten digits, and what its log says of other policies.",
        ),
        Later(
            "race",
            "ensample.cli.race",
            "Race policies on one problem: a table of their regret and a figure.",
        ),
        Later(
            "plan",
            "ensample.cli.plan",
            "What the theorems prescribe: radius, scale, ensemble size, bounds, and from when on they say anything.",
        ),
        Later(
            "measure",
            "ensample.cli.measure",
            "Measure gamma and p of the general theorem for policies on one problem, and what its bound then says.",
        ),
        Later(
            "run",
            "ensample.cli.run",
            "Run a study, or the part of it that is not finished yet: kill it when you like, and run it again.",
        ),
        Later("studies", "ensample.cli.run", "List the studies that come with the package."),
        Later(
            "report",
            "ensample.cli.report",
            "Write the results of a study as one self-contained page.",
        ),
        Later(
            "evaluate", "ensample.cli.evaluate", "What other policies would have earned on a log."
        ),
        Later(
            "serve",
            "ensample.cli.serve",
            "Serve experiments over HTTP: durable, with keys, metrics and a log.",
        ),
        Later("key", "ensample.cli.key", "Make, list or revoke keys of the service."),
        Later(
            "replay",
            "ensample.cli.replay",
            "Fold the events of a service's experiments again, and compare the hashes.",
        ),
        Later(
            "backup",
            "ensample.cli.backup",
            "Copy all that a service keeps into one file, while it runs.",
        ),
        Later(
            "migrate",
            "ensample.cli.migrate",
            "Carry experiments of an earlier version over to this one.",
        ),
        Later(
            "verify",
            "ensample.cli.verify",
            "Check the paper's statements: what is measured against what is claimed.",
        ),
    )


app = typer.Typer(
    name="ensample",
    help="Ensemble sampling for decisions.",
    cls=OurCommands,
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
    show_what_can_be_shown()
    try:
        app()
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            from ensample.cli.console import errors

            errors.print("stopped")
        raise
    except Exception as error:
        from ensample.errors import EnsampleError

        if isinstance(
            error, UnicodeEncodeError
        ):  # only names of files: what is printed has its question marks
            complain(
                f"{error.object!r} cannot name a file where the encoding is {error.encoding}: set LC_ALL=C.UTF-8"
            )
        if isinstance(error, EnsampleError | MemoryError | OSError):
            complain(str(error) or "not enough memory for this")
        raise


def complain(message: str) -> NoReturn:
    from ensample.cli.console import errors

    errors.print("error:", style="bold red", end=" ")
    errors.print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)
