"""`ensample serve`: experiments over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from ensample.cli.console import errors
from ensample.extras import require


def serve(
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="where everything is kept", show_default="ensample-data"),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="postgresql://...: several servers share it",
            show_default="files in DIR",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="other than this machine's own: needs a key", show_default="127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="0 is any that is free", show_default="8000")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="a TOML file with a table [serve]", show_default="ensample.toml"
        ),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error", show_default="info")
    ] = None,
) -> None:
    """Serve experiments over HTTP: durable, with keys, metrics and a log. docs/service.md says what can be called.

    Settings come from options, from variables such as `ENSAMPLE_PORT`, and from `ensample.toml`, in this order.

    Example: `ensample serve --data here --port 8000`
    """
    require(
        "starlette",
        "uvicorn",
        "msgspec",
        "apsw",
        "prometheus_client",
        "jinja2",
        user="ensample serve",
    )
    from ensample.service.server import check_safe, listening, run
    from ensample.service.settings import read_settings

    given = {"data": data, "database": database, "host": host, "port": port, "log_level": log_level}
    settings = read_settings(given, file=config)
    check_safe(settings)
    where = "PostgreSQL" if settings.database else settings.data

    def say(address: str) -> None:
        errors.print(
            f"{address}/docs  data in {where}  Ctrl-C stops", markup=False, highlight=False
        )

    run(settings, listening(settings), ready=say)
