"""Migration of all experiments of a service: of its folder, or of its PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ensample.errors import InvalidArgument
from ensample.experiments.migration import carry_over, carry_over_file, sole_writer, staged
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.postgres import (
    PostgresReader,
    PostgresStorage,
    is_address,
    prepared_database,
    stream_names,
)
from ensample.experiments.storage.postgres_pool import PostgresPool, connected, database_errors
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.extras import package
from ensample.service.maintenance import copy_database
from ensample.service.postgres_store import PostgresStore
from ensample.service.store import FILE, experiment_file, service_files

ShowExperiment = Callable[[str, int, int], object]
"""A callback that gets (name of the experiment, steps done, steps in all)."""
STAGING = "ensample_migrating"
"""The schema in which all tables are written before they are moved in one transaction."""
MIGRATING = 8_615_105  # the number of the lock of a database to which something is migrated


def migrate(old: str, new: str, show: ShowExperiment) -> dict[str, int]:
    """Carry over a file, a folder of a service or a PostgreSQL. Return the rows of each log."""
    if is_address(old) != is_address(new):
        expected = "two addresses postgresql://..., or two paths"
        raise InvalidArgument("new", "postgresql", expected)
    if is_address(old):
        return migrate_database(old, new, show)
    source, target = Path(old), Path(new)
    if source.is_dir():
        return migrate_folder(source, target, show)
    if not source.is_file():
        expected = "the file of an experiment or the folder of a service: there is none"
        raise InvalidArgument("old", old, expected)
    with staged(target) as part:
        rows = carry_over_file(source, part, show=partial(show, source.stem))
        with closing(SQLiteReader(part, alone=True)) as events:
            return {str(creation(events).settings["name"]): rows}


def migrate_folder(old: Path, new: Path, show: ShowExperiment) -> dict[str, int]:
    """Carry over all experiments of a service's folder, and its keys."""
    found = service_files(old)
    expected = "the folder of a service that is not running: stop it first"
    with staged(new) as part, sole_writer("old", old / "service", expected, old):
        rows = {}
        for name, path in found.items():
            target = experiment_file(part, name)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows[name] = carry_over_file(path, target, show=partial(show, name))
        if (old / FILE).is_file():
            apsw = package("apsw", "ensample migrate")
            copy_database(apsw, old / FILE, part / FILE, alone=True)
        return rows


def migrate_database(old: str, new: str, show: ShowExperiment) -> dict[str, int]:
    """Carry over all experiments of a PostgreSQL, and its keys, into another database."""
    heads = heads_of(old)
    if not heads:
        raise InvalidArgument("old", "postgresql", "a database with experiments")
    with staged_database(new) as address:
        rows = {}
        with closing(PostgresPool(old, 1)) as source, closing(PostgresPool(address, 1)) as target:
            for name in heads:
                reader, storage = PostgresReader(source, name), PostgresStorage(target, name)
                rows[name] = carry_over(reader, storage, None, partial(show, name))
        copy_keys(old, address)
        if heads_of(old) != heads:
            expected = "a database to which no server writes: stop them first"
            raise InvalidArgument("old", "postgresql", expected)
    return rows


def heads_of(address: str) -> dict[str, int]:
    """Return the number of events of each experiment."""
    with closing(connected(address)) as connection, database_errors("look for tables"):
        if not has_table(connection, "ensample_streams"):
            return {}
    with closing(PostgresPool(address, 1)) as pool:
        return {name: PostgresReader(pool, name).count for name in stream_names(pool)}


def has_table(connection: Any, name: str) -> bool:
    found = connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()
    return found[0] is not None


def copy_keys(old: str, new: str) -> None:
    """Copy keys, and which experiments are paused."""
    with (
        closing(PostgresStore(PostgresPool(old, 1))) as source,
        closing(PostgresStore(PostgresPool(new, 1))) as target,
    ):
        for key in source.all_keys().values():
            target.add(key)
        for name in source.paused():
            target.pause(name, True)


@contextmanager
def staged_database(address: str) -> Iterator[str]:
    """Give the address of a schema whose tables become those of the database at the end."""
    connection = connected(address)
    with closing(connection), database_errors("migrate"):
        if not connection.execute("SELECT pg_try_advisory_lock(%s)", (MIGRATING,)).fetchone()[0]:
            expected = "a database to which nobody else is migrating"
            raise InvalidArgument("new", "postgresql", expected)
        if has_table(connection, "ensample_streams") or has_table(connection, "ensample_keys"):
            expected = "a database without tables of a service, such as a new one"
            raise InvalidArgument("new", "postgresql", expected)
        connection.execute(f"DROP SCHEMA IF EXISTS {STAGING} CASCADE; CREATE SCHEMA {STAGING}")
        try:
            staging = in_schema(address)
            prepared_database(staging)
            yield staging
            move_tables(connection)
        finally:
            connection.execute(f"DROP SCHEMA IF EXISTS {STAGING} CASCADE")


def in_schema(address: str) -> str:
    """Return the address with the staging schema as the place of all tables."""
    info: Any = package("psycopg.conninfo", "a database of PostgreSQL")
    options = info.conninfo_to_dict(address).get("options", "")
    found: str = info.make_conninfo(address, options=f"{options} -c search_path={STAGING}".strip())
    return found


def move_tables(connection: Any) -> None:
    """Move the staged tables. It fails, as a whole, if a server has made tables meanwhile."""
    with connection.transaction():
        schema = connection.execute("SELECT quote_ident(current_schema())").fetchone()[0]
        query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        for (table,) in connection.execute(query, (STAGING,)).fetchall():
            connection.execute(f"ALTER TABLE {STAGING}.{table} SET SCHEMA {schema}")
