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
from contextlib import contextmanager, suppress
from typing import Any

from ensample.errors import StorageError
from ensample.experiments.events import Event, from_json, to_json
from ensample.experiments.storage import NameTaken, Snapshot
from ensample.extras import package

__all__ = ["PostgresReader", "PostgresStorage", "is_address", "prepared_database", "stream_names"]

CHUNK = 1_000  # events read together
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
READ = "SELECT event FROM ensample_events WHERE experiment = %s AND seq >= %s AND seq < %s ORDER BY seq LIMIT %s"
HISTORY = "SELECT event FROM ensample_events WHERE experiment = %s AND id = %s AND seq < %s ORDER BY seq"
APPEND = """
INSERT INTO ensample_events (experiment, seq, id, event)
SELECT %s, %s + place - 1, id, event FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS rows (id, event, place)
"""


def is_address(text: str) -> bool:
    """Whether it is the address of a PostgreSQL."""
    return text.startswith(("postgresql://", "postgres://"))


def connected(address: str) -> Any:
    psycopg = package("psycopg", "a database of PostgreSQL")
    with refused(address):
        return psycopg.connect(address, autocommit=True, connect_timeout=5, application_name="ensample")


def prepared_database(address: str) -> None:
    """Make the tables where they are not there; two servers that start together do it one after the other."""
    connection = connected(address)
    try:
        with refused(address), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETTLING,))
            connection.execute(SCHEMA)
    finally:
        connection.close()


def stream_names(address: str) -> list[str]:
    """The experiments that a database has."""
    connection = connected(address)
    try:
        with refused(address):
            found = connection.execute("SELECT experiment FROM ensample_streams WHERE head > 0 ORDER BY experiment").fetchall()
    finally:
        connection.close()
    return [name for (name,) in found]


class Reads(ABC):
    """What reader and writer have in common."""

    address: str
    experiment: str
    _connection: Any

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of events that are seen."""

    def read(self, start: int = 0) -> Iterator[Event]:
        """In chunks, so that nothing is held between two of them."""
        while True:
            found = self._all(READ, self.experiment, start, self.count, CHUNK)
            for (text,) in found:
                yield from_json(text)
            if len(found) < CHUNK:
                return
            start += len(found)

    def history(self, id: str) -> list[Event]:
        return [from_json(text) for (text,) in self._all(HISTORY, self.experiment, as_stored(id), self.count)]

    def snapshots(self) -> Iterator[Snapshot]:
        query = "SELECT seq, hash FROM ensample_snapshots WHERE experiment = %s AND seq <= %s ORDER BY seq DESC"
        for seq, hash in self._all(query, self.experiment, self.count):
            query = "SELECT content FROM ensample_snapshots WHERE experiment = %s AND seq = %s"
            found = self._all(query, self.experiment, seq)
            yield Snapshot(seq, None if not found or found[0][0] is None else bytes(found[0][0]), hash)

    def _all(self, query: str, *values: Any) -> list[Any]:
        with refused(self.address):
            found: list[Any] = self._connection.execute(query, values).fetchall()
        return found


class PostgresReader(Reads):
    """The events that are there when this is made."""

    def __init__(self, address: str, experiment: str) -> None:
        self.address, self.experiment = address, experiment
        self._connection = connected(address)
        found = self._all("SELECT head FROM ensample_streams WHERE experiment = %s", experiment)
        self._count = int(found[0][0]) if found else 0

    @property
    def count(self) -> int:
        return self._count

    def close(self) -> None:
        self._connection.close()


class PostgresStorage(Reads):
    """The events of one experiment, of which others may be writing too. See the module."""

    slow = True
    room = ROOM

    def __init__(self, address: str, experiment: str) -> None:
        self.address, self.experiment = address, experiment
        self.closed = False
        self.rollbacks = 0
        self._pending: list[tuple[str | None, str]] = []
        self._connection = connected(address)
        try:
            self._count, self._epoch = self._opened()
            self._head = self._count  # when the last batch began
        except BaseException:
            self._connection.close()
            raise

    def _opened(self) -> tuple[int, int]:
        """Head and epoch of the stream, which is made if it is not there."""
        psycopg: Any = package("psycopg", "a database of PostgreSQL")
        query = "SELECT head, epoch FROM ensample_streams WHERE experiment = %s"
        if not self._all(query, self.experiment):
            with refused(self.address), suppress(psycopg.errors.UniqueViolation):  # another server was a moment earlier
                self._connection.execute("INSERT INTO ensample_streams VALUES (%s, 0, 1)", (self.experiment,))
        head, epoch = self._all(query, self.experiment)[0]
        return int(head), int(epoch)

    @property
    def count(self) -> int:
        return self._count

    def take_over(self) -> None:
        """From now on only this writer, and those that open the stream later, can add events."""
        with refused(self.address):
            query = "UPDATE ensample_streams SET epoch = epoch + 1 WHERE experiment = %s RETURNING head, epoch"
            self._count, self._epoch = map(int, self._connection.execute(query, (self.experiment,)).fetchone())

    @contextmanager
    def batch(self) -> Iterator[None]:
        if self.closed:
            raise StorageError(errno.EBADF, "it was closed", self.where)
        try:
            self._begin()
            yield
            if not self.closed:
                self._commit()
        except BaseException:
            if not self.closed:
                self._undo()
            raise

    @property
    def where(self) -> str:
        """Without the password."""
        return f"postgresql {self.experiment}"

    def _begin(self) -> None:
        """Lock the stream, and see what others have added."""
        try:
            self._connection.execute("BEGIN")
        except Exception:  # it was hung up since: nothing has been asked yet, so it can be called again
            self._connection.close()
            self._connection = connected(self.address)
            with refused(self.address):
                self._connection.execute("BEGIN")
        with refused(self.address):
            query = "SELECT head, epoch FROM ensample_streams WHERE experiment = %s FOR UPDATE"
            head, epoch = self._connection.execute(query, (self.experiment,)).fetchone()
        if epoch != self._epoch:
            raise StorageError(errno.ESTALE, f"another server took over (epoch {epoch}, here {self._epoch})", self.where)
        self._count = self._head = int(head)

    def _commit(self) -> None:
        with refused(self.address):
            if self._pending:
                start = self._count - len(self._pending)
                if start == 0:
                    self._claim_name()
                ids, texts = [list(column) for column in zip(*self._pending, strict=True)]
                self._connection.execute(APPEND, (self.experiment, start, ids, texts))
                query = "UPDATE ensample_streams SET head = %s WHERE experiment = %s"
                self._connection.execute(query, (self._count, self.experiment))
            self._connection.execute("COMMIT")
        self._pending = []

    def _claim_name(self) -> None:
        """Raise if another experiment has this name but for capitals. Servers create one after the other."""
        self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATING,))
        found = self._connection.execute(SAME_NAME, (self.experiment, self.experiment)).fetchone()
        if found is not None:
            raise NameTaken("name", self.experiment, f"a name that differs from {found[0]!r} in more than capitals")

    def _undo(self) -> None:
        """Whether a commit whose answer was lost has happened is seen when the stream is locked again."""
        self._pending, self._count = [], self._head
        self.rollbacks += 1
        try:
            self._connection.execute("ROLLBACK")
        except Exception:
            with suppress(Exception):
                self._connection.close()

    def append(self, event: Event) -> None:
        id = getattr(event, "id", None)
        self._pending.append((None if id is None else as_stored(id), to_json(event)))
        self._count += 1

    def take_back(self, count: int) -> None:
        written = self._count - len(self._pending)
        if count < written:
            raise StorageError(errno.EINVAL, "events of another batch are there to stay", self.where)
        del self._pending[count - written :]
        self._count = count

    def read(self, start: int = 0) -> Iterator[Event]:
        """Also those of this batch."""
        written = self._count - len(self._pending)
        yield from super().read(start)
        for _, text in self._pending[max(0, start - written) :]:
            yield from_json(text)

    def history(self, id: str) -> list[Event]:
        return super().history(id) + [from_json(text) for own, text in self._pending if own == as_stored(id)]

    def keep(self, snapshot: Snapshot) -> None:
        rows = "INSERT INTO ensample_snapshots VALUES (%s, %s, %s, %s)"
        again = "ON CONFLICT (experiment, seq) DO UPDATE SET hash = excluded.hash, content = excluded.content"
        old = """
UPDATE ensample_snapshots SET content = NULL WHERE experiment = %s AND content IS NOT NULL AND seq NOT IN
(SELECT seq FROM ensample_snapshots WHERE experiment = %s ORDER BY seq DESC LIMIT %s)
"""
        with refused(self.address):
            values = (self.experiment, snapshot.seq, snapshot.hash, snapshot.content)
            self._connection.execute(f"{rows} {again}", values)
            self._connection.execute(old, (self.experiment, self.experiment, WHOLE_SNAPSHOTS))

    def reader(self) -> PostgresReader:
        return PostgresReader(self.address, self.experiment)

    def probe(self) -> None:
        """A batch is locked when it begins: that it is is all there is to see."""

    def close(self) -> None:
        """Once; what a batch has answered is committed, as it is given out after this."""
        if not self.closed:
            if self._pending:
                self._commit()
            self.closed = True
            self._connection.close()


def as_stored(id: str) -> str:
    """PostgreSQL's texts have no null character: such an id is looked up by another spelling, which no other id has."""
    return id.replace("\\", "\\\\").replace("\0", "\\0") if "\0" in id or "\\" in id else id


@contextmanager
def refused(address: str) -> Iterator[None]:
    """What the database cannot do is one of our errors; the address, which may have a password, is not in it."""
    psycopg: Any = package("psycopg", "a database of PostgreSQL")
    try:
        yield
    except psycopg.Error as error:
        full = isinstance(error, psycopg.errors.DiskFull)
        number = errno.ENOSPC if full else errno.EIO
        raise StorageError(number, f"{type(error).__name__} of the database", "postgresql") from error
