"""Commands of the decision service: `serve`, `key`, `replay`, `backup` and `migrate`."""

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ensample.cli.console import PATIENCE, Bars, errors, label, output, table
from ensample.cli.options import argument, option, optional_argument
from ensample.errors import EnsampleError, InvalidArgument
from ensample.extras import require

if TYPE_CHECKING:
    from ensample.service.store import Store

# What needs the packages of the service is imported when they are known to be there.

SERVER = ("starlette", "uvicorn", "msgspec", "apsw", "prometheus_client", "jinja2")
HASH_DIFFERS = 1  # the exit code


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    data: Path | None = option(
        None, "where everything is kept", metavar="DIR", show_default="ensample-data"
    )
    database: str | None = option(
        None,
        "postgresql://...: several servers share it",
        metavar="ADDRESS",
        show_default="files in DIR",
    )
    host: str | None = option(
        None, "other than this machine's own: needs a key", show_default="127.0.0.1"
    )
    port: int | None = option(None, "0 is any that is free", show_default="8000")
    config: Path | None = option(
        None, "a TOML file with a table [serve]", metavar="FILE", show_default="ensample.toml"
    )
    log_level: str | None = option(None, "debug, info, warning or error", show_default="info")


def serve(options: ServeOptions) -> None:
    """Serve experiments over HTTP: durable, with keys, metrics and a log. docs/service.md says what
    can be called.

    Settings come from options, from variables such as `ENSAMPLE_PORT`, and from `ensample.toml`,
    in this order.

    Example: `ensample serve --data here --port 8000`
    """
    require(*SERVER, user="ensample serve")
    from ensample.service.server import check_safe, listening, run
    from ensample.service.settings import read_settings

    settings = read_settings(
        {name: value for name, value in vars(options).items() if name != "config"},
        file=options.config,
    )
    check_safe(settings)
    where = "PostgreSQL" if settings.database else settings.data

    def say(address: str) -> None:
        text = f"{address}/docs  data in {where}  Ctrl-C stops"
        errors.print(text, markup=False, highlight=False)

    run(settings, listening(settings), ready=say)


class KeyAction(StrEnum):
    NEW = "new"
    LIST = "list"
    REVOKE = "revoke"


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    doing: KeyAction = argument("new, list or revoke")
    id: str | None = optional_argument("of the key to be revoked, as `list` shows it")
    role: str | None = option(
        None, "of a new key: decide (and reward), read (and evaluate), or admin (everything)"
    )
    experiment: str | None = option(None, "the only one that a new key is good for")
    database: str | None = option(None, "of the service, where it has one", metavar="ADDRESS")
    data: Path | None = option(None, "of the service", metavar="DIR", show_default="ensample-data")


def key(options: KeyOptions) -> None:
    """Make, list or revoke keys of the service. It may be running. A new key is shown once: what is
    kept is its hash.

    Example: `ensample key new --role decide --data here`

    Example: `ensample key revoke 0f3a5c7e9b1d --data here`
    """
    require("apsw", user="ensample key")
    from ensample.service.auth import new_key
    from ensample.service.settings import read_settings
    from ensample.service.store import exists, open_store

    settings = read_settings({"data": options.data, "database": options.database})
    role, experiment, id = options.role, options.experiment, options.id
    if options.doing is KeyAction.NEW:  # the first one before the service has ever run
        if role is None:
            raise InvalidArgument("role", None, "--role decide, read or admin")
        text, made = new_key(role, experiment)
        with closing(open_store(settings)) as store:
            store.add(made)
        for_what = f" for {experiment}" if experiment else ""
        typer.echo(f"a key of role {role}{for_what}, shown this once: {text}")
        return
    if not exists(settings):
        raise InvalidArgument("data", str(settings.data), "the folder of a service")
    with closing(open_store(settings)) as store:
        if options.doing is KeyAction.LIST:
            show_keys(store)
        elif id is None or id not in store.all_keys():
            raise InvalidArgument("id", id, "the id of a key, as `ensample key list` shows it")
        else:
            store.revoke(id, int(time.time()))
            typer.echo(f"revoked {id}")


def show_keys(store: "Store") -> None:
    shown = table("id", "role", "experiment", "created", "revoked")
    for each in store.all_keys().values():
        dates = (
            "" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")
            for when in (each.created, each.revoked)
        )
        shown.add_row(each.id, each.role, label(each.experiment or ""), *dates)
    output.print(shown)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    data: str = argument("of the service, which may be running; or postgresql://...", metavar="DIR")
    verify: bool = option(
        False, "fold from the first event, and compare every kept hash", "--verify"
    )


def replay(options: ReplayOptions) -> None:
    """Fold the events of a service's experiments again, and compare the hashes.

    Without `--verify` only the events after the last snapshot are folded. The exit code is 1 if a
    hash differs.

    Example: `ensample replay ensample-data --verify`
    """
    require("apsw", user="ensample replay")
    from ensample.service.maintenance import replayed_experiments

    shown = table("experiment", "events", "hashes", "state")
    shown.columns[-1].overflow = "fold"  # a hash of which a part is missing is of no use
    wrong, uncompared, verify = [], [], options.verify
    with Bars() as bars:
        bar = bars.add("events")
        for name, found in replayed_experiments(options.data, verify, bar.step):
            if isinstance(found, EnsampleError):
                wrong.append((name, found))
            else:
                uncompared += [name] if verify and not found.compared else []
                shown.add_row(label(name), f"{found.events:,}", f"{found.compared:,}", found.hash)
    output.print(shown)
    if uncompared:
        errors.print_text(
            f"nothing to compare yet: {', '.join(uncompared)}: a hash is kept with each snapshot "
            "(`snapshot_every`, 10,000 events unless set), and there is none"
        )
    for name, error in wrong:
        errors.print_text(f"{name}: {error}", style="bold red")
    if wrong:
        raise typer.Exit(HASH_DIFFERS)


@dataclass(frozen=True, kw_only=True)
class BackupOptions:
    data: Path = argument("of the service, which may be running", metavar="DIR")
    file: Path = argument("a tar file to be written, complete or not at all", metavar="FILE")


def backup(options: BackupOptions) -> None:
    """Copy all that a service keeps into one file, while it runs.

    Each experiment is as it was at one moment, with everything that had been acknowledged by then.
    To go back: `mkdir NEW`, `tar -xf FILE -C NEW`, `ensample serve --data NEW`.

    Example: `ensample backup ensample-data monday.tar`
    """
    require("apsw", user="ensample backup")
    from ensample.service.maintenance import back_up

    names = back_up(options.data, options.file)
    typer.echo(f"{len(names)} experiments in {options.file}")


@dataclass(frozen=True, kw_only=True)
class MigrateOptions:
    old: str = argument(
        "a file, the folder of a service, or postgresql://...: it is only read", metavar="OLD"
    )
    new: str = argument(
        "of the same kind, not there yet: written completely or not at all", metavar="NEW"
    )


def migrate(options: MigrateOptions) -> None:
    """Carry experiments of an earlier version over to this one.

    Decisions, propensities, contexts and rewards stay as they were recorded, and every row of the
    new log is compared with the old one. What was learned from them is computed again by this
    version. Nothing may be using OLD meanwhile. Ctrl-C leaves no NEW: run it again.

    Examples:

    `ensample migrate news.db news-new.db`

    `ensample migrate ensample-data ensample-data-new`

    `ensample migrate postgresql://shop@db/shop postgresql://shop@db/shop_new`
    """
    require("apsw", user="ensample migrate")
    from ensample.service.migration import migrate as migrated

    with Bars(PATIENCE) as bars:
        bar = bars.add("events")
        progress = lambda name, done, total: bar.show(done, total)  # noqa: E731
        rows = migrated(options.old, options.new, progress)
    shown = table("experiment", "decisions, all as they were recorded")
    for name, count in rows.items():
        shown.add_row(label(name), f"{count:,}")
    output.print(shown)
