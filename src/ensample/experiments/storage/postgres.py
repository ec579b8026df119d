"""Events in PostgreSQL: several servers write to one log, one batch at a time, and fold the same state.

    ensample_streams     experiment, head (the number of events), epoch
    ensample_events      (experiment, seq), id of the decision, JSON; seq counts from 0 without gaps
    ensample_snapshots   (experiment, seq), hash, content

A batch locks its stream's row (`SELECT head ... FOR UPDATE`), takes in what others have added since, answers, writes
seq = head .. head + n - 1 and the new head, and commits. So the order of events is the order of the locks, and a server that
lost its connection has lost its batch with it. The epoch counts who took the stream over (`take_over`): a writer that opened
it in an earlier one is fenced, and keeps nothing.
"""

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

from ensample.errors import StorageError
from ensample.experiments.events import Event, from_json, to_json
from ensample.experiments.storage.base import NameTaken, Snapshot
from ensample.experiments.storage.postgres_pool import (
    PostgresPool,
    Session,
    connected,
    database_errors,
)

CHUNK = 200  # events read together: they arrive in a fraction of `postgres_pool.ANSWER` also where contexts are large
WHOLE_SNAPSHOTS = 2  # of which the content is kept
ROOM = 500_000_000  # bytes of one: a field has 1 GB, and bytes that are sent as text take two signs each
SCHEMA = """
CREATE TABLE IF NOT EXISTS ensample_streams (experiment text PRIMARY KEY, head bigint NOT NULL, epoch bigint NOT NULL);
CREATE TABLE IF NOT EXISTS ensample_events (
    experiment text NOT NULL, seq bigint NOT NULL, id text, event text NOT NULL, PRIMARY KEY (experiment, seq)
);
CREATE INDEX IF NOT EXISTS ensample_events_of_a_decision ON ensample_events (experiment, id) WHERE id IS NOT NULL;
CREATE TABLE IF NOT EXISTS ensample_snapshots (
    experiment text NOT NULL, seq bigint NOT NULL, hash text NOT NULL, content bytea, PRIMARY KEY (experiment, seq)
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
READ = "SELECT event FROM ensample_events WHERE experiment = %s AND seq >= %s AND seq < %s ORDER BY seq LIMIT %s"
HISTORY = (
    "SELECT event FROM ensample_events WHERE experiment = %s AND id = %s AND seq < %s ORDER BY seq"
)
APPEND = """
INSERT INTO ensample_events (experiment, seq, id, event)
SELECT %s, %s + place - 1, id, event FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS rows (id, event, place)
"""
SNAPSHOTS = """
SELECT seq, hash, octet_length(content) FROM ensample_snapshots WHERE experiment = %s AND seq <= %s ORDER BY seq DESC
"""
CONTENT = "SELECT content FROM ensample_snapshots WHERE experiment = %s AND seq = %s"
KEEP = """
INSERT INTO ensample_snapshots VALUES (%s, %s, %s, %s)
ON CONFLICT (experiment, seq) DO UPDATE SET hash = excluded.hash, content = excluded.content
"""
FORGET = """
UPDATE ensample_snapshots SET content = NULL WHERE experiment = %s AND content IS NOT NULL AND seq NOT IN
(SELECT seq FROM ensample_snapshots WHERE experiment = %s ORDER BY seq DESC LIMIT %s)
"""


def is_address(text: str) -> bool:
    """Return True for the address of a PostgreSQL."""
    return text.startswith(("postgresql://", "postgres://"))


def prepared_database(address: str) -> None:
    """Make the tables where they are not there; two servers that start together do it one after the other."""
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


class Reads(ABC):
    """What reader and writer have in common."""

    experiment: str

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of events that are seen."""

    @abstractmethod
    def _fetch(self, call: str, query: str, *values: Any, size: int = 0) -> list[Any]:
        """Return the rows of a statement that reads."""

    def read(self, start: int = 0) -> Iterator[Event]:
        """In chunks, so that nothing is held between two of them."""
        while True:
            found = self._fetch("read events", READ, self.experiment, start, self.count, CHUNK)
            for (text,) in found:
                yield from_json(text)
            if len(found) < CHUNK:
                return
            start += len(found)

    def history(self, id: str) -> list[Event]:
        found = self._fetch("read a decision", HISTORY, self.experiment, as_stored(id), self.count)
        return [from_json(text) for (text,) in found]

    def snapshots(self) -> Iterator[Snapshot]:
        for seq, hash, size in self._fetch(
            "list snapshots", SNAPSHOTS, self.experiment, self.count
        ):
            found = (
                []
                if size is None
                else self._fetch("read a snapshot", CONTENT, self.experiment, seq, size=size)
            )
            yield Snapshot(
                seq, None if not found or found[0][0] is None else bytes(found[0][0]), hash
            )


class PostgresReader(Reads):
    """The events that are there when this is made; a connection is borrowed for each read."""

    def __init__(self, pool: PostgresPool, experiment: str) -> None:
        self._pool, self.experiment = pool, experiment
        found = self._fetch(
            "look for an experiment",
            "SELECT head FROM ensample_streams WHERE experiment = %s",
            experiment,
        )
        self._count = int(found[0][0]) if found else 0

    @property
    def count(self) -> int:
        return self._count

    def _fetch(self, call: str, query: str, *values: Any, size: int = 0) -> list[Any]:
        return self._pool.fetch(call, query, *values, size=size)

    def close(self) -> None:
        pass  # nothing is held


class PostgresStorage(Reads):
    """The events of one experiment, of which others may be writing too. A batch borrows a connection. See the module."""

    slow = True
    room = ROOM

    def __init__(self, pool: PostgresPool, experiment: str) -> None:
        self._pool, self.experiment = pool, experiment
        self.closed = False
        self.rollbacks = 0
        self._pending: list[tuple[str | None, str]] = []
        self._session: Session | None = None  # of the batch that is under way
        self._count, self._epoch = self._opened()
        self._head = self._count  # when the last batch began
        self._time: datetime | None = None  # of the database, when the last batch began

    def _opened(self) -> tuple[int, int]:
        """Return head and epoch of the stream, which is made if it is not there."""
        query = "SELECT head, epoch FROM ensample_streams WHERE experiment = %s"
        if not self._fetch("look for an experiment", query, self.experiment):
            made = "INSERT INTO ensample_streams VALUES (%s, 0, 1) ON CONFLICT DO NOTHING"  # unless another server was earlier
            self._fetch("begin an experiment", made, self.experiment)
        head, epoch = self._fetch("look for an experiment", query, self.experiment)[0]
        return int(head), int(epoch)

    @property
    def count(self) -> int:
        return self._count

    def clock(self) -> datetime:
        """Return the time of the database when this batch began: servers whose clocks differ have the same one."""
        if self._time is None:
            raise RuntimeError("the time is known within a batch")
        return self._time

    def take_over(self) -> None:
        """From now on only this writer, and those that open the stream later, can add events."""
        query = "UPDATE ensample_streams SET epoch = epoch + 1 WHERE experiment = %s RETURNING head, epoch"
        self._count, self._epoch = map(
            int, self._fetch("take over an experiment", query, self.experiment)[0]
        )

    def _fetch(self, call: str, query: str, *values: Any, size: int = 0) -> list[Any]:
        if self._session is None:
            return self._pool.fetch(call, query, *values, size=size)
        return self._session.execute(call, query, values, size)

    @contextmanager
    def batch(self) -> Iterator[None]:
        if self.closed:
            raise StorageError(errno.EBADF, "it was closed", self.where)
        try:
            with self._pool.session("begin a batch", "BEGIN") as (self._session, _):
                self._lock()
                yield
                if not self.closed:
                    self._commit()
        except BaseException:
            if not self.closed:
                self._undo()
            raise
        finally:
            self._session = None

    @property
    def where(self) -> str:
        """Without the password."""
        return f"postgresql {self.experiment}"

    def _lock(self) -> None:
        """Lock the stream, and see what others have added."""
        head, epoch, self._time = self._fetch("lock an experiment", LOCK, self.experiment)[0]
        if epoch != self._epoch:
            raise StorageError(
                errno.ESTALE,
                f"another server took over (epoch {epoch}, here {self._epoch})",
                self.where,
            )
        self._count = self._head = int(head)

    def _commit(self) -> None:
        if self._pending:
            start = self._count - len(self._pending)
            if start == 0:
                self._claim_name()
            ids, texts = [list(column) for column in zip(*self._pending, strict=True)]
            self._fetch(
                "append events",
                APPEND,
                self.experiment,
                start,
                ids,
                texts,
                size=sum(map(len, texts)),
            )
            query = "UPDATE ensample_streams SET head = %s WHERE experiment = %s"
            self._fetch("append events", query, self._count, self.experiment)
        self._fetch("commit a batch", "COMMIT")
        self._pending = []

    def _claim_name(self) -> None:
        """Raise if another experiment has this name but for capitals. Servers create one after the other."""
        self._fetch("create an experiment", "SELECT pg_advisory_xact_lock(%s)", CREATING)
        found = self._fetch("create an experiment", SAME_NAME, self.experiment, self.experiment)
        if found:
            raise NameTaken(
                "name",
                self.experiment,
                f"a name that differs from {found[0][0]!r} in more than capitals",
            )

    def _undo(self) -> None:
        """Forget the batch. Whether a commit whose answer was lost has happened is seen when the stream is locked again."""
        self._pending, self._count = [], self._head
        self.rollbacks += 1

    def append(self, event: Event) -> None:
        id = getattr(event, "id", None)
        self._pending.append((None if id is None else as_stored(id), to_json(event)))
        self._count += 1

    def take_back(self, count: int) -> None:
        written = self._count - len(self._pending)
        if count < written:
            raise StorageError(
                errno.EINVAL, "events of another batch are there to stay", self.where
            )
        del self._pending[count - written :]
        self._count = count

    def read(self, start: int = 0) -> Iterator[Event]:
        """Also those of this batch."""
        written = self._count - len(self._pending)
        yield from super().read(start)
        for _, text in self._pending[max(0, start - written) :]:
            yield from_json(text)

    def history(self, id: str) -> list[Event]:
        return super().history(id) + [
            from_json(text) for own, text in self._pending if own == as_stored(id)
        ]

    def keep(self, snapshot: Snapshot) -> None:
        values = (self.experiment, snapshot.seq, snapshot.hash, snapshot.content)
        self._fetch("keep a snapshot", KEEP, *values, size=len(snapshot.content or b""))
        self._fetch("keep a snapshot", FORGET, self.experiment, self.experiment, WHOLE_SNAPSHOTS)

    def reader(self) -> PostgresReader:
        return PostgresReader(self._pool, self.experiment)

    def probe(self) -> None:
        """A batch is locked when it begins: that it is is all there is to see."""

    def close(self) -> None:
        """Once; what a batch has answered is committed, as it is given out after this."""
        if not self.closed:
            if self._pending:
                self._commit()
            self.closed = True


def as_stored(id: str) -> str:
    """PostgreSQL's texts have no null character: such an id is looked up by another spelling, which no other id has."""
    return id.replace("\\", "\\\\").replace("\0", "\\0") if "\0" in id or "\\" in id else id
