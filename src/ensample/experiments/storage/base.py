"""Storage of events: a list that only grows, and snapshots of the state that it comes to."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from ensample.errors import InvalidArgument
from ensample.experiments.events import Event, from_json, to_json
from ensample.experiments.inputs import Moment


class Snapshot(NamedTuple):
    """The state after the first `seq` events, and its hash."""

    seq: int
    content: bytes | None  # None of old ones
    hash: str


class NameTaken(InvalidArgument):
    """An experiment cannot be created: the name of another one differs in capitals only."""


class Reading(Protocol):
    """The first `count` events of an experiment. Events added later are not seen."""

    @property
    def count(self) -> int: ...

    def read(self, start: int = 0) -> Iterable[Event]:
        """Return the events from number `start` on, in order."""

    def history(self, id: str) -> list[Event]:
        """Return the events of one decision, in order."""

    def snapshots(self) -> Iterable[Snapshot]:
        """Return the snapshots that are kept, the latest first."""

    def close(self) -> None: ...


class Storage(Reading, Protocol):
    """The place where one experiment keeps its events.

    `count` has those of the present batch too.
    """

    @property
    def slow(self) -> bool:
        """True if a commit takes time, so that several questions should share one."""

    @property
    def closed(self) -> bool: ...

    @property
    def rollbacks(self) -> int:
        """The number of batches that were undone, if `count` alone does not tell."""

    @property
    def room(self) -> int:
        """The bytes that the content of a snapshot may have."""

    def clock(self) -> Moment:
        """Return the time, within a batch: that of a database where several writers share one."""

    def batch(self) -> AbstractContextManager[None]:
        """Keep all that is appended inside when it ends without an error, else nothing of it."""

    def append(self, event: Event) -> None:
        """Add an event to the batch; this writer can read it at once."""

    def take_back(self, count: int) -> None:
        """Drop the events from number `count` on, all of them of this batch."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot beside the events, within a batch."""

    def reader(self) -> Reading:
        """Return the events so far, for another thread to read while this one goes on."""


class DatabaseStorage(ABC):
    """A storage that holds the events of a batch in memory, and writes them when it ends."""

    slow = True
    rollbacks = 0

    def __init__(self) -> None:
        self.closed = False
        self._pending: list[tuple[str | None, str]] = []  # id of the decision, and JSON, of a batch
        self._kept: int | None = None  # events in the database; None: not known since an error

    @property
    def count(self) -> int:
        kept = self._known() if self._kept is None else self._kept
        return kept + len(self._pending)

    def _known(self) -> int:
        if self._kept is None:
            self._kept = self._counted()
        return self._kept

    def append(self, event: Event) -> None:
        self._pending.append((getattr(event, "id", None), to_json(event)))

    def take_back(self, count: int) -> None:
        kept = self._known()
        if count < kept:
            raise ValueError(f"events before number {kept} are kept, and cannot be taken back")
        del self._pending[count - kept :]

    def read(self, start: int = 0) -> Iterator[Event]:
        kept, pending = self._known(), list(self._pending)
        if start < kept:
            yield from self._read(start)
        for _, text in pending[max(0, start - kept) :]:
            yield from_json(text)

    def history(self, id: str) -> list[Event]:
        found = self._history(id)
        return found + [from_json(text) for own, text in self._pending if own == id]

    @contextmanager
    def batch(self) -> Iterator[None]:
        self._check_open()
        try:
            with self._transaction():
                yield
                self._check_process()
                if not self.closed:
                    self._commit()
        except BaseException:
            if not self.closed:
                self._pending, self._kept = [], None
                self._undo()
            raise

    def _written(self) -> None:
        """Note that the events of the batch are in the database."""
        self._kept, self._pending = self._known() + len(self._pending), []

    @abstractmethod
    def _counted(self) -> int:
        """Count the events in the database."""

    @abstractmethod
    def _read(self, start: int) -> Iterator[Event]:
        """Yield the events in the database from number `start` on."""

    @abstractmethod
    def _history(self, id: str) -> list[Event]:
        """Return the events of one decision in the database."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raise if the storage is closed."""

    def _check_process(self) -> None:
        """Raise if the batch was begun by another process: there was a fork in it."""
        return None

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Prepare the database for a batch."""

    @abstractmethod
    def _commit(self) -> None:
        """Write what is pending, and make all of the batch durable."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll back: after an error the transaction may be over already, one way or the other."""
