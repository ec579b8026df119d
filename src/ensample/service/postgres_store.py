"""Everything that a service keeps, in PostgreSQL: several servers share it."""

import errno
import threading
import time
from contextlib import suppress
from typing import Any

from ensample.errors import StorageError
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.postgres import PostgresStorage, prepared_database, stream_names
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.service.auth import Key
from ensample.service.store import is_name

READ_EVERY = 0.2  # seconds between two reads of all keys and pauses
STALE = 3.0  # seconds after which the last read is not relied on: a key may have been revoked
SETTLING = 8_615_103
SCHEMA = """
CREATE TABLE IF NOT EXISTS ensample_keys (
    id text PRIMARY KEY, role text NOT NULL, hash text NOT NULL, experiment text,
    created bigint NOT NULL, revoked bigint
);
CREATE TABLE IF NOT EXISTS ensample_paused (experiment text PRIMARY KEY);
"""
KEYS = "SELECT id, role, hash, experiment, created, revoked FROM ensample_keys ORDER BY created"
PAUSED = "SELECT experiment FROM ensample_paused"


class PostgresStore:
    """A database.

    A thread reads keys and pauses every READ_EVERY seconds, so that no call waits for them.
    """

    shared = True

    def __init__(self, pool: PostgresPool) -> None:
        self.pool = pool
        self._keys: dict[str, Key] = {}
        self._paused: set[str] = set()
        self._read_at = float("-inf")
        self._reading = threading.Lock()
        self._closed = threading.Event()
        try:
            with pool.session("make tables", "BEGIN") as (session, _):
                session.execute("make tables", "SELECT pg_advisory_xact_lock(%s)", (SETTLING,))
                session.execute("make tables", SCHEMA)
                session.execute("make tables", "COMMIT")
            self._read()
        except BaseException:
            pool.close()
            raise
        self._thread = threading.Thread(target=self._follow, name="keys", daemon=True)
        self._thread.start()

    def prepare(self) -> None:
        prepared_database(self.pool.address)

    def names(self) -> list[str]:
        return [name for name in stream_names(self.pool) if is_name(name)]

    def storage(self, name: str) -> Storage:
        return PostgresStorage(self.pool, name)

    def all_keys(self) -> dict[str, Key]:
        self._check_fresh()
        return self._keys

    def paused(self) -> set[str]:
        self._check_fresh()
        return self._paused

    def _check_fresh(self) -> None:
        age = time.monotonic() - self._read_at
        if age > STALE:
            raise StorageError(
                errno.EIO, f"keys were read {age:.1f} s ago ({self.pool.failure})", "postgresql"
            )

    def _follow(self) -> None:
        while not self._closed.wait(READ_EVERY):
            with suppress(StorageError):
                self._read()

    def _read(self) -> None:
        with self._reading:  # one at a time: no earlier read replaces a later one
            began = time.monotonic()
            with self.pool.session("read keys", KEYS) as (session, rows):
                paused = session.execute("read pauses", PAUSED)
            self._keys = {row[0]: Key(*row) for row in rows}
            self._paused = {name for (name,) in paused}
            self._read_at = began

    def add(self, key: Key) -> None:
        statement = "INSERT INTO ensample_keys VALUES (%s, %s, %s, %s, %s, %s)"
        again = "ON CONFLICT (id) DO UPDATE SET hash = excluded.hash"  # the same: ids are random
        self._change("add a key", f"{statement} {again}", *key)

    def revoke(self, id: str, time: int) -> None:
        statement = "UPDATE ensample_keys SET revoked = %s WHERE id = %s AND revoked IS NULL"
        self._change("revoke a key", statement, time, id)

    def pause(self, experiment: str, paused: bool) -> None:
        statement = "DELETE FROM ensample_paused WHERE experiment = %s"
        if paused:
            statement = "INSERT INTO ensample_paused VALUES (%s) ON CONFLICT DO NOTHING"
        self._change("pause", statement, experiment)

    def _change(self, call: str, statement: str, *values: Any) -> None:
        """Run a statement, which may be sent twice, and read its effect at once."""
        self.pool.fetch(call, statement, *values)
        self._read()

    def close(self) -> None:
        """Close the pool too."""
        self._closed.set()
        self._thread.join()
        self.pool.close()
