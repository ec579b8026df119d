"""What a service keeps beside its experiments, in PostgreSQL: several servers have the same keys."""

import threading
import time
from typing import Any

from ensample.errors import StorageError
from ensample.experiments.postgres import connected, refused
from ensample.serve.keys import Key

__all__ = ["PostgresStore"]

LOOK = 0.2  # seconds between two looks whether something has changed
SETTLING = 8_615_103
SCHEMA = """
CREATE TABLE IF NOT EXISTS ensample_keys (
    id text PRIMARY KEY, role text NOT NULL, hash text NOT NULL, experiment text, created bigint NOT NULL, revoked bigint
);
CREATE TABLE IF NOT EXISTS ensample_paused (experiment text PRIMARY KEY);
"""


class PostgresStore:
    """As `Store`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._connection = connected(address)
        with refused(address), self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETTLING,))
            self._connection.execute(SCHEMA)
        self._looked = float("-inf")
        self._keys: dict[str, Key] = {}
        self._paused: set[str] = set()
        self._failed: StorageError | None = None
        self._lock = threading.Lock()

    def known(self) -> dict[str, Key]:
        self._look()
        return self._keys

    def paused(self) -> set[str]:
        self._look()
        return self._paused

    def _look(self) -> None:
        with self._lock:
            self._look_now()

    def _look_now(self) -> None:
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked, self._failed = now, None
            try:
                query = "SELECT id, role, hash, experiment, created, revoked FROM ensample_keys ORDER BY created"
                self._keys = {row[0]: Key(*row) for row in self._run(query).fetchall()}
                self._paused = {name for (name,) in self._run("SELECT experiment FROM ensample_paused").fetchall()}
            except StorageError as error:
                self._failed = error
        if self._failed is not None:
            raise self._failed

    def add(self, key: Key) -> None:
        again = "ON CONFLICT (id) DO UPDATE SET hash = excluded.hash"  # the same: ids are random
        self._change(f"INSERT INTO ensample_keys VALUES (%s, %s, %s, %s, %s, %s) {again}", *key)

    def revoke(self, id: str, time: int) -> None:
        self._change("UPDATE ensample_keys SET revoked = %s WHERE id = %s AND revoked IS NULL", time, id)

    def pause(self, experiment: str, paused: bool) -> None:
        added = (
            "INSERT INTO ensample_paused VALUES (%s) ON CONFLICT (experiment) DO UPDATE SET experiment = excluded.experiment"
        )
        self._change(added if paused else "DELETE FROM ensample_paused WHERE experiment = %s", experiment)

    def _change(self, statement: str, *values: Any) -> None:
        with self._lock:
            self._run(statement, *values)
        self._looked = float("-inf")

    def _run(self, statement: str, *values: Any) -> Any:
        """Each statement may be said twice: a connection that was hung up since is noticed by the first."""
        try:
            return self._connection.execute(statement, values)
        except Exception:
            self._connection.close()
            self._connection = connected(self.address)
        with refused(self.address):
            return self._connection.execute(statement, values)

    def close(self) -> None:
        self._connection.close()
