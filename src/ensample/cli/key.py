"""`ensample key`: who may call the service."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ensample.cli.console import label, output
from ensample.errors import InvalidArgument
from ensample.extras import require
from ensample.serve.keys import new_key
from ensample.serve.service_settings import read_settings
from ensample.serve.store import Keeping, store_of

__all__ = ["key"]


class Doing(StrEnum):
    NEW = "new"
    LIST = "list"
    REVOKE = "revoke"


def key(
    doing: Annotated[Doing, typer.Argument(help="new, list or revoke")],
    id: Annotated[str | None, typer.Argument(help="of the key to be revoked, as `list` shows it")] = None,
    role: Annotated[
        str | None, typer.Option(help="of a new key: decide (and reward), read (and evaluate), or admin (everything)")
    ] = None,
    experiment: Annotated[str | None, typer.Option(help="the only one that a new key is good for")] = None,
    database: Annotated[str | None, typer.Option(metavar="ADDRESS", help="of the service, where it has one")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="of the service", show_default="ensample-data")] = None,
) -> None:
    """Make, list or revoke keys of the service. It may be running. A new key is shown once: what is kept is its hash.

    Example: `ensample key new --role decide --data here`

    Example: `ensample key revoke 0f3a5c7e9b1d --data here`
    """
    require("apsw", extra="serve")
    store = store_of(read_settings({"data": data, "database": database}))
    try:
        {Doing.NEW: new, Doing.LIST: show, Doing.REVOKE: revoke}[doing](store, id, role, experiment)
    finally:
        store.close()


def new(store: Keeping, id: str | None, role: str | None, experiment: str | None) -> None:
    if role is None:
        raise InvalidArgument("role", None, "--role decide, read or admin")
    text, made = new_key(role, experiment)
    store.add(made)
    for_what = f" for {experiment}" if experiment else ""
    typer.echo(f"a key of role {role}{for_what}, shown this once: {text}")


def show(store: Keeping, id: str | None, role: str | None, experiment: str | None) -> None:
    table = Table("id", "role", "experiment", "created", "revoked")
    for found in store.known().values():
        table.add_row(found.id, found.role, label(found.experiment or ""), day(found.created), day(found.revoked))
    output.print(table)


def revoke(store: Keeping, id: str | None, role: str | None, experiment: str | None) -> None:
    if id is None or id not in store.known():
        raise InvalidArgument("id", id, "the id of a key, as `ensample key list` shows it")
    store.revoke(id, int(time.time()))
    typer.echo(f"revoked {id}")


def day(seconds: int | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
