"""Events in memory."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ensample.experiments.events import Activated, Decided, Event, Rewarded
from ensample.experiments.inputs import Moment, system_clock
from ensample.experiments.storage.base import Reading, Snapshot


class MemoryStorage:
    """A list of events, and the places of each decision's events in it. It keeps no snapshots."""

    slow = False
    closed = False
    rollbacks = 0
    room = 0

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._places: dict[str, list[int]] = {}

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
        count = len(self.events)
        return [self.events[place] for place in self._places.get(id, ()) if place < count]

    def keep(self, snapshot: Snapshot) -> None:
        pass

    def snapshots(self) -> Iterable[Snapshot]:
        return ()

    def reader(self) -> Reading:
        copied = MemoryStorage()
        for event in self.events:
            copied.append(event)
        return copied

    def close(self) -> None:
        pass
