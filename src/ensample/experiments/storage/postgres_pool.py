"""Connection pool of a server to a PostgreSQL. Every call ends in time, whatever fails: database,
network or server.

    what is limited                    by                                          after
    a wait for a free connection       the pool                                    CONNECTION
    a wait for a lock                  the database (lock_timeout)                 LOCK
    a statement without an answer      this process, which shuts the socket down   ANSWER
    a transaction of a paused server   the database (idle_in_transaction_...)      IDLE
    a statement that nobody waits for  the database (statement_timeout)            STATEMENT

A server that computes for longer than IDLE within a transaction sends `SELECT 1` every BEAT. One
that is paused or cut off does not, so the database ends its transaction and with it the lock.
"""

import errno
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ensample.errors import ForkError, StorageError
from ensample.extras import package
from ensample.fork_safety import register

# Seconds; two in a row stay below 5.
CONNECTION, LOCK, ANSWER, IDLE, STATEMENT = 2.0, 2.0, 2.5, 1.5, 60.0
BEAT, TICK = 0.3, 0.05  # seconds between two keep-alives, and between two looks of the watchdog
PAUSE = 1.0  # seconds after a call without an answer in which no other one is tried
SPEED = 1_000_000  # bytes a second that a database takes or gives at least
SIZE = 10  # connections
LIMITS = {
    "lock_timeout": LOCK,
    "statement_timeout": STATEMENT,
    "idle_in_transaction_session_timeout": IDLE,
    "tcp_user_timeout": ANSWER,
}
"""Settings of a session, in seconds. The last one ends a session whose client reads nothing."""
NETWORK = {
    "connect_timeout": 2,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": round(ANSWER * 1e3),
}
USER = "a database of PostgreSQL"
INHERITED: list[Any] = []  # pools of a parent process, which its child must not end

logging.getLogger("psycopg.pool").addHandler(
    logging.NullHandler()
)  # what fails is an error of the call that needed it


def limited(address: str) -> str:
    """Return the address with all limits; those that it has itself count."""
    info: Any = package("psycopg.conninfo", USER)
    with database_errors("connect"):
        given = info.conninfo_to_dict(address)
    limits = " ".join(f"-c {name}={round(seconds * 1e3)}" for name, seconds in LIMITS.items())
    options = f"{limits} {given.pop('options', '')}".strip()
    found: str = info.make_conninfo(
        **{"application_name": "ensample", **NETWORK, **given, "options": options}
    )
    return found


def connected(address: str) -> Any:
    """Return a connection beside any pool, for a command."""
    psycopg = package("psycopg", USER)
    with database_errors("connect"):
        return psycopg.connect(limited(address), autocommit=True)


@contextmanager
def database_errors(call: str) -> Iterator[None]:
    """Convert errors of the database.

    The address, which may have a password, and experiments are not in them.
    """
    try:
        yield
    except Exception as error:
        psycopg = package("psycopg", USER)
        if not isinstance(error, psycopg.Error):
            raise
        number = errno.ENOSPC if isinstance(error, psycopg.errors.DiskFull) else errno.EIO
        raise StorageError(number, f"{call}: {type(error).__name__}", "postgresql") from error


class Session:
    """A connection while it is borrowed.

    Its statements are limited in time, and its transaction is kept alive.
    """

    def __init__(self, pool: "PostgresPool", connection: Any) -> None:
        self.connection, self._pool = connection, pool
        self._mutex = threading.Lock()
        self._deadline, self._used = math.inf, time.monotonic()
        self.is_cut = self._closed = False

    @property
    def is_broken(self) -> bool:
        return bool(self.connection.broken or self.connection.closed)

    def execute(
        self, call: str, query: str, values: tuple[Any, ...] = (), size: int = 0
    ) -> list[Any]:
        """Return the rows of a statement. `call` is for errors, `size` the bytes that are sent."""
        self._pool.check_process()  # before the mutex, which a fork may have left locked
        with self._mutex:
            return self._execute(call, query, values, size)

    def _execute(self, call: str, query: str, values: tuple[Any, ...], size: int) -> list[Any]:
        limit = ANSWER + size / SPEED
        self._deadline = time.monotonic() + limit
        try:
            with database_errors(call):
                cursor = self.connection.execute(query, values)
                rows: list[Any] = [] if cursor.description is None else cursor.fetchall()
        except StorageError as error:
            if self.is_cut:
                raise self._pool.failed(f"{call}: no answer within {limit:g} s") from error
            if self.is_broken:
                self._pool.note(error.strerror or call)
            raise
        finally:
            self._deadline, self._used = math.inf, time.monotonic()
        self._pool.note("")
        return rows

    def watch(self, now: float) -> None:
        """Shut down a socket without an answer; keep a transaction alive while we compute."""
        if now > self._deadline:
            self._cut()
        elif self._deadline == math.inf and now > self._used + BEAT:
            self._used = now
            threading.Thread(target=self._beat, name="keep-alive", daemon=True).start()

    def _cut(self) -> None:
        self.is_cut = True
        with suppress(Exception), socket.socket(fileno=os.dup(self.connection.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)

    def _beat(self) -> None:
        with self._mutex, suppress(StorageError):
            if not self._closed:
                self._execute("keep a transaction alive", "SELECT 1", (), 0)

    def end(self) -> None:
        """Roll back what was not committed."""
        with suppress(StorageError):
            if not self.is_broken and self.connection.info.transaction_status.name != "IDLE":
                self.execute("roll back", "ROLLBACK")
        with self._mutex:
            self._closed = True


class PostgresPool:
    """Connections of a server to a PostgreSQL, `size` at most, and a watchdog."""

    def __init__(self, address: str, size: int = SIZE) -> None:
        psycopg_pool: Any = package("psycopg_pool", USER)
        self.address, self.size = address, size
        self.failure = ""  # the last call without connection or answer; "" once one succeeds
        self._failed_at = -math.inf
        self._sessions: set[Session] = set()
        self._closed = threading.Event()
        self.lock = threading.Lock()
        self._inherited: ForkError | None = None  # in the child of a fork
        self._pool = psycopg_pool.ConnectionPool(
            limited(address),
            kwargs={"autocommit": True},
            min_size=1,
            max_size=size,
            reconnect_timeout=PAUSE,  # the next call that needs a connection tries again
            open=True,
        )
        threading.Thread(target=self._watch, name="database watchdog", daemon=True).start()
        register(self)

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Refuse all use: connections and threads are the parent's. Nothing is sent, or freed."""
        self._inherited = ForkError(
            "a pool of connections to postgresql", "opened in the process that uses it"
        )
        INHERITED.append(self._pool)

    def check_process(self) -> None:
        """Raise in the child of a fork."""
        if self._inherited is not None:
            raise self._inherited

    def fetch(self, call: str, query: str, *values: Any, size: int = 0) -> list[Any]:
        """Return the rows of a statement that may be sent twice."""
        with self.session(call, query, values, size) as (_, rows):
            return rows

    @contextmanager
    def session(
        self, call: str, query: str, values: tuple[Any, ...] = (), size: int = 0
    ) -> "Iterator[tuple[Session, list[Any]]]":
        """Give a connection and the rows of its first statement, which may be sent twice."""
        session, rows = self._begun(call, query, values, size)
        try:
            yield session, rows
        finally:
            self._give_back(session)

    def _begun(
        self, call: str, query: str, values: tuple[Any, ...], size: int
    ) -> "tuple[Session, list[Any]]":
        """Borrow a connection on which the first statement works: stale ones are replaced."""
        for attempt in range(self.size + 1):
            session = self._borrowed(call)
            try:
                return session, session.execute(call, query, values, size)
            except BaseException as error:
                self._give_back(session)
                again = isinstance(error, StorageError) and session.is_broken and not session.is_cut
                if not again or attempt == self.size:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _borrowed(self, call: str) -> Session:
        self.check_process()
        if time.monotonic() < self._failed_at + PAUSE:
            raise StorageError(errno.EIO, f"{call}: not tried after {self.failure}", "postgresql")
        try:
            with database_errors(call):
                session = Session(self, self._pool.getconn(timeout=CONNECTION))
        except StorageError as error:
            raise self.failed(f"{call}: no connection within {CONNECTION:g} s") from error
        self._sessions.add(session)
        return session

    def _give_back(self, session: Session) -> None:
        if self._inherited is not None:
            return
        session.end()
        self._sessions.discard(session)
        self._pool.putconn(session.connection)

    def failed(self, why: str) -> StorageError:
        """Note that the database does not answer: for PAUSE seconds calls do not wait for it."""
        self._failed_at = time.monotonic()
        self.note(why)
        return StorageError(errno.EIO, why, "postgresql")

    def note(self, failure: str) -> None:
        """Note why the last call failed, or by "" that it did not."""
        self.failure = failure
        if not failure:
            self._failed_at = -math.inf

    def _watch(self) -> None:
        while not self._closed.wait(TICK):
            now = time.monotonic()
            for session in self._sessions.copy():
                session.watch(now)

    def close(self) -> None:
        if self._inherited is None:
            self._pool.close()
            self._closed.set()
