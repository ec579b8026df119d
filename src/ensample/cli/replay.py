"""`ensample replay`: what a service's events come to."""

from typing import Annotated

import typer
from rich.table import Table

from ensample.cli.console import errors, label, output, progress
from ensample.errors import EnsampleError
from ensample.extras import require

DIFFERS = 1  # the exit code


def replay(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="of the service, which may be running; or postgresql://..."
        ),
    ],
    verify: Annotated[
        bool,
        typer.Option("--verify", help="fold from the first event, and compare every kept hash"),
    ] = False,
) -> None:
    """Fold the events of a service's experiments again, and compare the hashes.

    Without `--verify` only the events after the last snapshot are folded. The exit code is 1 if a hash differs.

    Example: `ensample replay ensample-data --verify`
    """
    require("apsw", user="ensample replay")
    from ensample.service.maintenance import replayed_experiments

    table = Table("experiment", "events", "hashes")
    table.add_column("state", overflow="fold")  # a hash of which a part is missing is of no use
    wrong, uncompared = [], []
    with progress() as bars:
        task = bars.add_task("events", total=None)
        for name, found in replayed_experiments(data, verify, lambda: bars.advance(task)):
            if isinstance(found, EnsampleError):
                wrong.append((name, found))
            else:
                uncompared += [name] if verify and not found.compared else []
                table.add_row(label(name), f"{found.events:,}", f"{found.compared:,}", found.hash)
    output.print(table)
    if uncompared:
        why = "a hash is kept with each snapshot (`snapshot_every`, 10,000 events unless set), and there is none"
        say(f"nothing to compare yet: {', '.join(uncompared)}: {why}")
    for name, error in wrong:
        say(f"{name}: {error}", style="bold red")
    if wrong:
        raise typer.Exit(DIFFERS)


def say(text: str, style: str | None = None) -> None:
    """Beside the table."""
    errors.print(text, markup=False, highlight=False, soft_wrap=True, style=style)
