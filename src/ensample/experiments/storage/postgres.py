"""Events in PostgreSQL: several servers write to one log, one batch at a time, and fold the same
state.

    ensample_streams     experiment, head (the number of events), epoch
    ensample_events      (experiment, seq), id of the decision, JSON; seq counts from 0 without gaps
    ensample_snapshots   (experiment, seq), hash, content

A batch locks its stream's row (`SELECT head ... FOR UPDATE`), takes in what others have added
since, answers, writes seq = head .. head + n - 1 and the new head, and commits. So the order of
events is the order of the locks, and a server that lost its connection has lost its batch with it.
The epoch counts who took the stream over (`take_over`): a writer that opened it in an earlier one
is fenced, and keeps nothing.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

from ensample.errors import StorageError
from ensample.experiments.events import Event, from_json
from ensample.experiments.storage.base import DatabaseStorage, NameTaken, Snapshot
from ensample.experiments.storage.postgres_pool import (
    PostgresPool,
    Session,
    connected,
    database_errors,
)

CHUNK = 200  # events read together: a fraction of `postgres_pool.ANSWER`, large ones too
WHOLE_SNAPSHOTS = 2  # of which the content is kept
ROOM = 500_000_000  # bytes of one: a field has 1 GB, and a byte that is sent takes two
SCHEMA = """
CREATE TABLE IF NOT EXISTS ensample_streams (
    experiment text PRIMARY KEY, head bigint NOT NULL, epoch bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS ensample_events (
    experiment text NOT NULL, seq bigint NOT NULL, id text, event text NOT NULL,
    PRIMARY KEY (experiment, seq)
);
CREATE INDEX IF NOT EXISTS ensample_events_of_a_decision
    ON ensample_events (experiment, id) WHERE id IS NOT NULL;
CREATE TABLE IF NOT EXISTS ensample_snapshots (
    experiment text NOT NULL, seq bigint NOT NULL, hash text NOT NULL, content bytea,
    PRIMARY KEY (experiment, seq)
);
"""
SETTLING = 8_615_102  # the number of the lock under which tables are made
CREATING = 8_615_104  # of the one under which experiments are created
SAME_NAME = """
SELECT experiment FROM ensample_streams
WHERE lower(experiment COLLATE "C") = lower(%s COLLATE "C") AND experiment <> %s AND head > 0
"""
LOCK = """
SELECT head, epoch, clock_timestamp()
FROM (SELECT head, epoch FROM ensample_streams WHERE experiment = %s FOR UPDATE) AS locked
"""  # the time is that after the wait for the lock
READ = """
SELECT event FROM ensample_events WHERE experiment = %s AND seq >= %s AND seq < %s
ORDER BY seq LIMIT %s
"""
HISTORY = (
    "SELECT event FROM ensample_events WHERE experiment = %s AND id = %s AND seq < %s ORDER BY seq"
)
APPEND = """
INSERT INTO ensample_events (experiment, seq, id, event)
SELECT %s, %s + place - 1, id, event
FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS rows (id, event, place)
"""
SNAPSHOTS = """
SELECT seq, hash, octet_length(content) FROM ensample_snapshots
WHERE experiment = %s AND seq <= %s ORDER BY seq DESC
"""
CONTENT = "SELECT content FROM ensample_snapshots WHERE experiment = %s AND seq = %s"
KEEP = """
INSERT INTO ensample_snapshots VALUES (%s, %s, %s, %s)
ON CONFLICT (experiment, seq) DO UPDATE SET hash = excluded.hash, content = excluded.content
"""
SET_HEAD = "UPDATE ensample_streams SET head = %s WHERE experiment = %s"
TAKE_OVER = """
UPDATE ensample_streams SET epoch = epoch + 1 WHERE experiment = %s RETURNING head, epoch
"""
FORGET = """
UPDATE ensample_snapshots SET content = NULL
WHERE experiment = %s AND content IS NOT NULL AND seq NOT IN
(SELECT seq FROM ensample_snapshots WHERE experiment = %s ORDER BY seq DESC LIMIT %s)
"""


def is_address(text: str) -> bool:
    """Return True for the address of a PostgreSQL."""
    return text.startswith(("postgresql://", "postgres://"))


def prepared_database(address: str) -> None:
    """Make the tables if they are not there; two servers do it one after the other."""
    with (
        closing(connected(address)) as connection,
        database_errors("make tables"),
        connection.transaction(),
    ):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETTLING,))
        connection.execute(SCHEMA)


def stream_names(pool: PostgresPool) -> list[str]:
    """Return the experiments that a database has."""
    query = "SELECT experiment FROM ensample_streams WHERE head > 0 ORDER BY experiment"
    return [name for (name,) in pool.fetch("list experiments", query)]


class EventRows:
    """The rows of one experiment, up to event number `stop`. `fetch` runs a statement."""

    def __init__(self, experiment: str, fetch: Callable[..., list[Any]]) -> None:
        self.experiment, self._fetch = experiment, fetch

    def read(self, start: int, stop: int) -> Iterator[Event]:
        """Yield events in chunks, so that nothing is held between two of them."""
        while start < stop:
            found = self._fetch("read events", READ, self.experiment, start, stop, CHUNK)
            for (text,) in found:
                yield from_json(text)
            if len(found) < CHUNK:
                return
            start += len(found)

    def history(self, id: str, stop: int) -> list[Event]:
        found = self._fetch("read a decision", HISTORY, self.experiment, as_stored(id), stop)
        return [from_json(text) for (text,) in found]

    def snapshots(self, stop: int) -> Iterator[Snapshot]:
        for seq, hash, size in self._fetch("list snapshots", SNAPSHOTS, self.experiment, stop):
            content = None
            if size is not None:
                found = self._fetch("read a snapshot", CONTENT, self.experiment, seq, size=size)
                content = bytes(found[0][0]) if found and found[0][0] is not None else None
            yield Snapshot(seq, content, hash)


class PostgresReader:
    """The events that are there when this is made; a connection is borrowed for each read."""

    def __init__(self, pool: PostgresPool, experiment: str) -> None:
        self._rows = EventRows(experiment, pool.fetch)
        query = "SELECT head FROM ensample_streams WHERE experiment = %s"
        found = pool.fetch("look for an experiment", query, experiment)
        self.count = int(found[0][0]) if found else 0

    def read(self, start: int = 0) -> Iterator[Event]:
        return self._rows.read(start, self.count)

    def history(self, id: str) -> list[Event]:
        return self._rows.history(id, self.count)

    def snapshots(self) -> Iterator[Snapshot]:
        return self._rows.snapshots(self.count)

    def close(self) -> None:
        pass  # nothing is held


class PostgresStorage(DatabaseStorage):
    """The events of one experiment, of which others may be writing too. See the module."""

    room = ROOM

    def __init__(self, pool: PostgresPool, experiment: str) -> None:
        super().__init__()
        self._pool, self.experiment = pool, experiment
        self._rows = EventRows(experiment, self._fetch)
        self._session: Session | None = None  # of the batch that is under way
        self._kept, self._epoch = self._opened()
        self._head = self._kept  # when the last batch began
        self._time: datetime | None = None  # of the database, when the last batch began

    def _opened(self) -> tuple[int, int]:
        """Return head and epoch of the stream, which is made if it is not there."""
        query = "SELECT head, epoch FROM ensample_streams WHERE experiment = %s"
        if not self._fetch("look for an experiment", query, self.experiment):
            insert = "INSERT INTO ensample_streams VALUES (%s, 0, 1) ON CONFLICT DO NOTHING"
            self._fetch("begin an experiment", insert, self.experiment)
        head, epoch = self._fetch("look for an experiment", query, self.experiment)[0]
        return int(head), int(epoch)

    def clock(self) -> datetime:
        """Return the time of the database when this batch began, which all servers share."""
        if self._time is None:
            raise RuntimeError("the time is known within a batch")
        return self._time

    def take_over(self) -> None:
        """Let only this writer, and those that open the stream later, add events from now on."""
        found = self._fetch("take over an experiment", TAKE_OVER, self.experiment)
        self._kept, self._epoch = map(int, found[0])

    def snapshots(self) -> Iterator[Snapshot]:
        return self._rows.snapshots(self.count)

    def keep(self, snapshot: Snapshot) -> None:
        values = (self.experiment, snapshot.seq, snapshot.hash, snapshot.content)
        self._fetch("keep a snapshot", KEEP, *values, size=len(snapshot.content or b""))
        self._fetch("keep a snapshot", FORGET, self.experiment, self.experiment, WHOLE_SNAPSHOTS)

    def reader(self) -> PostgresReader:
        return PostgresReader(self._pool, self.experiment)

    def probe(self) -> None:
        """Do nothing: that a batch begins, and locks the stream, is all there is to see."""

    def close(self) -> None:
        """Close once; what a batch has answered is committed, as it is given out after this."""
        if not self.closed:
            if self._pending:
                self._commit()
            self.closed = True

    def _fetch(self, call: str, query: str, *values: Any, size: int = 0) -> list[Any]:
        if self._session is None:
            return self._pool.fetch(call, query, *values, size=size)
        return self._session.execute(call, query, values, size)

    @property
    def _where(self) -> str:
        """The stream as errors name it: without the password."""
        return f"postgresql {self.experiment}"

    def _check_open(self) -> None:
        if self.closed:
            raise StorageError(errno.EBADF, "it was closed", self._where)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._pool.session("begin a batch", "BEGIN") as (self._session, _):
                self._lock()
                yield
        finally:
            self._session = None

    def _lock(self) -> None:
        """Lock the stream, and see what others have added."""
        head, epoch, self._time = self._fetch("lock an experiment", LOCK, self.experiment)[0]
        if epoch != self._epoch:
            said = f"another server took over (epoch {epoch}, here {self._epoch})"
            raise StorageError(errno.ESTALE, said, self._where)
        self._kept = self._head = int(head)

    def _commit(self) -> None:
        if self._pending:
            start, texts = self._known(), [text for _, text in self._pending]
            if start == 0:
                self._claim_name()
            ids = [None if id is None else as_stored(id) for id, _ in self._pending]
            size = sum(map(len, texts))
            self._fetch("append events", APPEND, self.experiment, start, ids, texts, size=size)
            self._fetch("append events", SET_HEAD, self.count, self.experiment)
        self._fetch("commit a batch", "COMMIT")
        self._written()

    def _claim_name(self) -> None:
        """Raise if another experiment has this name but for capitals. Servers create in turn."""
        self._fetch("create an experiment", "SELECT pg_advisory_xact_lock(%s)", CREATING)
        found = self._fetch("create an experiment", SAME_NAME, self.experiment, self.experiment)
        if found:
            expected = f"a name that differs from {found[0][0]!r} in more than capitals"
            raise NameTaken("name", self.experiment, expected)

    def _undo(self) -> None:
        """Forget the batch.

        A commit whose answer was lost is seen when the stream is locked again.
        """
        self._kept = self._head
        self.rollbacks += 1

    def _counted(self) -> int:
        return self._head

    def _read(self, start: int) -> Iterator[Event]:
        return self._rows.read(start, self._known())

    def _history(self, id: str) -> list[Event]:
        return self._rows.history(id, self._known())


def as_stored(id: str) -> str:
    """Spell an id without null characters, which PostgreSQL's texts have not, as no other id."""
    return id.replace("\\", "\\\\").replace("\0", "\\0") if "\0" in id or "\\" in id else id
