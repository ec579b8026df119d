"""`ensample key`: who may call the service."""

import time
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ensample.cli.console import label, output
from ensample.errors import InvalidArgument
from ensample.extras import require
from ensample.service.auth import new_key
from ensample.service.settings import ServiceSettings, read_settings
from ensample.service.store import Store, exists, open_store


class Doing(StrEnum):
    NEW = "new"
    LIST = "list"
    REVOKE = "revoke"


def key(
    doing: Annotated[Doing, typer.Argument(help="new, list or revoke")],
    id: Annotated[
        str | None, typer.Argument(help="of the key to be revoked, as `list` shows it")
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            help="of a new key: decide (and reward), read (and evaluate), or admin (everything)"
        ),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="the only one that a new key is good for")
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="of the service, where it has one")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="of the service", show_default="ensample-data"),
    ] = None,
) -> None:
    """Make, list or revoke keys of the service. It may be running. A new key is shown once: what is kept is its hash.

    Example: `ensample key new --role decide --data here`

    Example: `ensample key revoke 0f3a5c7e9b1d --data here`
    """
    require("apsw", user="ensample key")
    settings = read_settings({"data": data, "database": database})
    if doing is Doing.NEW:
        new(settings, role, experiment)
        return
    if not exists(settings):
        raise InvalidArgument("data", str(settings.data), "the folder of a service")
    with closing(open_store(settings)) as store:
        if doing is Doing.LIST:
            show(store)
        else:
            revoke(store, id)


def new(settings: ServiceSettings, role: str | None, experiment: str | None) -> None:
    """The first one may be made before the service has ever run."""
    if role is None:
        raise InvalidArgument("role", None, "--role decide, read or admin")
    text, made = new_key(role, experiment)
    with closing(open_store(settings)) as store:
        store.add(made)
    for_what = f" for {experiment}" if experiment else ""
    typer.echo(f"a key of role {role}{for_what}, shown this once: {text}")


def show(store: Store) -> None:
    table = Table("id", "role", "experiment", "created", "revoked")
    for found in store.all_keys().values():
        table.add_row(
            found.id,
            found.role,
            label(found.experiment or ""),
            day(found.created),
            day(found.revoked),
        )
    output.print(table)


def revoke(store: Store, id: str | None) -> None:
    if id is None or id not in store.all_keys():
        raise InvalidArgument("id", id, "the id of a key, as `ensample key list` shows it")
    store.revoke(id, int(time.time()))
    typer.echo(f"revoked {id}")


def day(seconds: int | None) -> str:
    return (
        "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    )
