"""What became of each decision, in a few bytes each: the log of many decisions is not held as rows."""

import heapq
from array import array
from typing import NamedTuple

from ensample.experiments.events import Activated, Decided, Event, Expired, Rewarded
from ensample.experiments.settings import Settings

__all__ = ["Fate", "Fates"]

OUTCOMES = ("waiting", "applied", "default", "expired")
WAITING, APPLIED, DEFAULT, EXPIRED = range(4)
COUNTED = ("duplicate", "late", "not_shown")


class Fate(NamedTuple):
    """The columns of the log that are known only later."""

    active: bool
    reward: float | None
    outcome: str
    reward_time: int | None
    duplicate: int
    late: int
    not_shown: int


class Fates:
    """By number of the decision, in the order in which they were taken."""

    def __init__(self, settings: Settings) -> None:
        self.rules = settings.reward
        self.numbers: dict[str, int] = {}  # of the decisions, by id
        self.active, self.outcomes, self.rewarded = bytearray(), bytearray(), bytearray()
        self.rewards, self.times = array("d"), array("q")
        self.counts: dict[int, list[int]] = {}  # of rewards that did not count; most decisions have none
        self.due: list[tuple[int, int, int]] = []  # a heap of (deadline, round, number), as `State.due`

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: int) -> Fate:
        has = bool(self.rewarded[number])
        return Fate(
            bool(self.active[number]),
            self.rewards[number] if has else None,
            OUTCOMES[self.outcomes[number]],
            self.times[number] if has else None,
            *self.counts.get(number, (0, 0, 0)),
        )

    def enter(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case Decided():
                self._decided(event)
            case Rewarded():
                self._rewarded(event)
            case Activated():
                if event.outcome == "applied":
                    self.active[self.numbers[event.id]] = True
            case Expired():
                self._expired(event)

    def _decided(self, event: Decided) -> None:
        number, wait = len(self.numbers), self.rules.wait_microseconds
        self.numbers[event.id] = number
        for column, value in ((self.active, event.active), (self.outcomes, WAITING), (self.rewarded, False)):
            column.append(value)
        self.rewards.append(0.0)
        self.times.append(0)
        if wait is not None:
            heapq.heappush(self.due, (event.time + wait, event.round, number))

    def _rewarded(self, event: Rewarded) -> None:
        number = self.numbers.get(event.id)
        if number is None:
            return  # unknown
        if event.outcome != "applied":
            self.counts.setdefault(number, [0, 0, 0])[COUNTED.index(event.outcome)] += 1
            return
        self._pay(number, self.rewards[number] + event.value if self.rewarded[number] else event.value, event.time)
        if self.rules.rule == "first":
            self.outcomes[number] = APPLIED

    def _pay(self, number: int, reward: float, time: int) -> None:
        self.rewarded[number] = True
        self.rewards[number], self.times[number] = reward, time

    def _expired(self, event: Expired) -> None:
        """As `State.due_at`: the earliest deadlines first, at most so many."""
        closed = 0
        while self.due and self.due[0][0] < event.time and (event.most is None or closed < event.most):
            number = heapq.heappop(self.due)[2]
            if self.outcomes[number] == WAITING:
                self._expire(number, event.time)
                closed += 1

    def _expire(self, number: int, time: int) -> None:
        if self.rewarded[number]:
            self.outcomes[number] = APPLIED
        elif self.rules.default is None or not self.active[number]:
            self.outcomes[number] = EXPIRED
        else:
            self.outcomes[number] = DEFAULT
            self._pay(number, self.rules.default, time)
