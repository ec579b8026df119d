"""`ensample backup`: all that a service keeps, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from ensample.extras import require


def backup(
    data: Annotated[
        Path, typer.Argument(metavar="DIR", help="of the service, which may be running")
    ],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="a tar file to be written, complete or not at all"),
    ],
) -> None:
    """Copy all that a service keeps into one file, while it runs.

    Each experiment is as it was at one moment, with everything that had been acknowledged by then. To go back: `mkdir NEW`,
    `tar -xf FILE -C NEW`, `ensample serve --data NEW`.

    Example: `ensample backup ensample-data monday.tar`
    """
    require("apsw", user="ensample backup")
    from ensample.service.maintenance import back_up

    names = back_up(data, file)
    typer.echo(f"{len(names)} experiments in {file}")
