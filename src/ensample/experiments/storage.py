"""Where events are kept: a list that only grows, and snapshots of what it comes to."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from ensample.errors import InvalidArgument
from ensample.experiments.events import Activated, Decided, Event, Rewarded
from ensample.experiments.times import Moment, system_clock


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


class MemoryStorage:
    """A list."""

    slow = False
    closed = False
    rollbacks = 0
    room = 0  # none is kept

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._places: dict[str, list[int]] = {}  # of each decision's events

    @property
    def count(self) -> int:
        return len(self.events)

    def clock(self) -> Moment:
        return system_clock()

    @contextmanager
    def batch(self) -> Iterator[None]:
        count = len(self.events)
        try:
            yield
        except BaseException:
            self.take_back(count)
            raise

    def append(self, event: Event) -> None:
        if isinstance(event, Decided | Rewarded | Activated):
            self._places.setdefault(event.id, []).append(len(self.events))
        self.events.append(event)  # last: an event is there once it is in this list

    def take_back(self, count: int) -> None:
        taken = self.events[count:]
        del self.events[count:]  # first: from here on they are gone, whatever cuts this short
        for event in taken:
            if isinstance(event, Decided | Rewarded | Activated):
                places = self._places[event.id]
                while places and places[-1] >= count:
                    places.pop()

    def read(self, start: int = 0) -> Iterator[Event]:
        for place in range(start, len(self.events)):
            yield self.events[place]

    def history(self, id: str) -> list[Event]:
        return [
            self.events[place] for place in self._places.get(id, ()) if place < len(self.events)
        ]

    def keep(self, snapshot: Snapshot) -> None:
        pass  # what is gone with the process needs no short cut

    def snapshots(self) -> Iterable[Snapshot]:
        return ()

    def reader(self) -> Reading:
        copied = MemoryStorage()
        for event in self.events:
            copied.append(event)
        return copied

    def close(self) -> None:
        pass
