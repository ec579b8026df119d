"""Where events are kept: a list that only grows, and snapshots of what it comes to."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from ensample.errors import InvalidArgument
from ensample.experiments.events import Event
from ensample.experiments.inputs import Moment


class Snapshot(NamedTuple):
    """The state after the first `seq` events, and its hash."""

    seq: int
    content: bytes | None  # None of old ones
    hash: str


class NameTaken(InvalidArgument):
    """An experiment cannot be created: there is one whose name differs in capitals only."""


class Reading(Protocol):
    """The first `count` events of an experiment: what is added later is not seen. For one thread, whichever that is."""

    @property
    def count(self) -> int: ...

    def read(self, start: int = 0) -> Iterable[Event]:
        """The events from number `start` on, in order."""

    def history(self, id: str) -> list[Event]:
        """The events of one decision, in order."""

    def snapshots(self) -> Iterable[Snapshot]:
        """Those that are kept, the latest first."""

    def close(self) -> None:
        """Let go of what is held open."""


class Storage(Protocol):
    """What an experiment asks of the place where its events are kept. One experiment, one writer."""

    @property
    def slow(self) -> bool:
        """Whether ending a batch takes time, so that threads should share one."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    @property
    def rollbacks(self) -> int:
        """How many batches were undone, where `count` alone does not tell: others may have added as many events since."""

    @property
    def count(self) -> int:
        """The number of events, with those of a batch that is not over yet."""

    def clock(self) -> Moment:
        """Return the time, within a batch: that of a database where several writers share one."""

    def batch(self) -> AbstractContextManager[None]:
        """All that is appended inside is kept when it ends without an error, or none of it: `count` goes back."""

    def append(self, event: Event) -> None:
        """Add an event, within a batch; it can be read at once by this writer."""

    def take_back(self, count: int) -> None:
        """Leave out the events from number `count` on, all of them of this batch."""

    def read(self, start: int = 0) -> Iterable[Event]:
        """The events from number `start` on, in order."""

    def history(self, id: str) -> list[Event]:
        """The events of one decision, in order."""

    @property
    def room(self) -> int:
        """The bytes that the content of a snapshot may have."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot beside the events, within a batch."""

    def snapshots(self) -> Iterable[Snapshot]:
        """Those that are kept, the latest first."""

    def reader(self) -> Reading:
        """The events so far, for another thread to read while this one goes on."""

    def close(self) -> None:
        """Let go of what is held open."""
