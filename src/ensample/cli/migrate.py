"""`ensample migrate`: experiments of an earlier version, carried over to this one."""

from typing import Annotated

import typer
from rich.table import Table

from ensample.cli.console import label, output, progress
from ensample.cli.waiting import LateProgress
from ensample.extras import require


def migrate(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="a file, the folder of a service, or postgresql://...: it is only read",
        ),
    ],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="of the same kind, not there yet: written completely or not at all"
        ),
    ],
) -> None:
    """Carry experiments of an earlier version over to this one.

    Decisions, propensities, contexts and rewards stay as they were recorded, and every row of the new log is compared with
    the old one. What was learned from them is computed again by this version. Nothing may be using OLD meanwhile. Ctrl-C
    leaves no NEW: run it again.

    Examples:

    `ensample migrate news.db news-new.db`

    `ensample migrate ensample-data ensample-data-new`

    `ensample migrate postgresql://shop@db/shop postgresql://shop@db/shop_new`
    """
    require("apsw", user="ensample migrate")
    from ensample.service.migration import migrate as migrated

    with LateProgress(progress(), "events") as bar:
        rows = migrated(old, new, lambda name, done, total: bar.show(done, total))
    table = Table("experiment", "decisions, all as they were recorded")
    for name, count in rows.items():
        table.add_row(label(name), f"{count:,}")
    output.print(table)
