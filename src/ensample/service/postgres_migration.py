"""Migration of all experiments of a PostgreSQL into another database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from ensample.errors import InvalidArgument
from ensample.experiments.migration import carry_over
from ensample.experiments.storage.postgres import (
    PostgresReader,
    PostgresStorage,
    prepared_database,
    stream_names,
)
from ensample.experiments.storage.postgres_pool import PostgresPool, connected, database_errors
from ensample.extras import package
from ensample.service.postgres_store import PostgresStore

STAGING = "ensample_migrating"
"""The schema in which all tables are written before they are moved in one transaction."""
MIGRATING = 8_615_105  # the number of the lock of a database to which something is migrated


def migrate_database(old: str, new: str, show: Any) -> dict[str, int]:
    """Carry over experiments and keys into another database. Return the rows by name."""
    heads = heads_of(old) if has_experiments(old) else {}
    if not heads:
        raise InvalidArgument("old", "postgresql", "a database with experiments")
    with staged_database(new) as address:
        rows = {}
        with closing(PostgresPool(old, 1)) as source, closing(PostgresPool(address, 1)) as target:
            for name in heads:
                storage = PostgresStorage(target, name)
                rows[name] = carry_over(
                    PostgresReader(source, name), storage, None, partial(show, name)
                )
        copy_keys(old, address)
        if heads_of(old) != heads:
            raise InvalidArgument(
                "old", "postgresql", "a database to which no server writes: stop them first"
            )
    return rows


def has_experiments(address: str) -> bool:
    """Return True if a database has the tables of a service."""
    with closing(connected(address)) as connection, database_errors("look for tables"):
        return (
            connection.execute("SELECT to_regclass('ensample_streams')").fetchone()[0] is not None
        )


def heads_of(address: str) -> dict[str, int]:
    """Return the number of events of each experiment."""
    with closing(PostgresPool(address, 1)) as pool:
        return {name: PostgresReader(pool, name).count for name in stream_names(pool)}


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
            raise InvalidArgument(
                "new", "postgresql", "a database to which nobody else is migrating"
            )
        check_empty(connection)
        connection.execute(f"DROP SCHEMA IF EXISTS {STAGING} CASCADE; CREATE SCHEMA {STAGING}")
        try:
            staging = in_schema(address)
            prepared_database(staging)
            yield staging
            with connection.transaction():
                replaced = lock_replaced(connection)
                check_empty(connection)
                move_tables(connection, replaced)
        finally:
            connection.execute(f"DROP SCHEMA IF EXISTS {STAGING} CASCADE")


def in_schema(address: str) -> str:
    """Return the address with the staging schema as the place of all tables."""
    info: Any = package("psycopg.conninfo", "a database of PostgreSQL")
    options = info.conninfo_to_dict(address).get("options", "")
    found: str = info.make_conninfo(address, options=f"{options} -c search_path={STAGING}".strip())
    return found


def check_empty(connection: Any) -> None:
    """Raise if the database has experiments or keys already."""
    for table in ("ensample_streams", "ensample_keys"):
        there = connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()[0]
        if there and connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
            raise InvalidArgument(
                "new", "postgresql", "a database without experiments and keys, such as a new one"
            )


def lock_replaced(connection: Any) -> list[str]:
    """Lock the tables that a server may have made, and return their names."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
    schema = connection.execute("SELECT quote_ident(current_schema())").fetchone()[0]
    names = [f"{schema}.{table}" for (table,) in connection.execute(query, (STAGING,)).fetchall()]
    there = [
        name
        for name in names
        if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0]
    ]
    if there:
        connection.execute(f"LOCK TABLE {', '.join(there)} IN ACCESS EXCLUSIVE MODE")
    return there


def move_tables(connection: Any, replaced: list[str]) -> None:
    """Put the staged tables in the place of the empty ones that are locked."""
    schema = connection.execute("SELECT quote_ident(current_schema())").fetchone()[0]
    for name in replaced:
        connection.execute(f"DROP TABLE {name}")
    query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
    for (table,) in connection.execute(query, (STAGING,)).fetchall():
        connection.execute(f"ALTER TABLE {STAGING}.{table} SET SCHEMA {schema}")
