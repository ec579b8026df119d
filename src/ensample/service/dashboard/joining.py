"""Rewards joined with their decisions, which are handed on once they are final.

Where decisions wait for a while, those that are rewarded early are not like the others: clicks
come before their absence. So decisions are handed on in the order in which they were taken, each
once its wait is over. Until then it has a provisional reward: what came so far, or the default.
Where decisions wait for ever they are handed on as their rewards come, and those without one are
left out.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ensample.experiments.events import Activated, Decided, Rewarded
from ensample.experiments.reward import Reward
from ensample.service.dashboard.lift import Gain

SLOTS = 44  # of delays: from a millisecond to 2^43 of them, by factors of 2


@dataclass(slots=True)
class Pending:
    """A decision until it is handed on."""

    time: int
    action: int
    active: bool
    held: bool
    gain: Gain | None
    reward: float | None = None
    provisional: float | None = None  # as it is counted until the wait is over
    came: bool = False  # whether a reward came, rather than the default
    closed: bool = False


class Delays:
    """How long rewards took, counted by factors of 2."""

    def __init__(self) -> None:
        self.counts = [0] * SLOTS

    def add(self, microseconds: int) -> None:
        self.counts[min(max(microseconds // 1_000, 0).bit_length(), SLOTS - 1)] += 1

    def quantile(self, share: float) -> float | None:
        """Return a quantile in seconds: the upper end of the slot that it falls into."""
        needed, seen = share * sum(self.counts), 0
        for slot, count in enumerate(self.counts):
            seen += count
            if count and seen >= needed:
                return 2.0**slot / 1e3
        return None


class Joining:
    """Decisions with rewards: `settle` gets final ones, `revise` provisional rewards."""

    def __init__(
        self,
        rules: Reward,
        settle: Callable[[Pending], None],
        revise: Callable[[Pending, float | None], None],
    ) -> None:
        self.rules, self.settle, self.revise = rules, settle, revise
        self.within = 0  # decisions that were shown and are within their wait
        self.wait = rules.wait_microseconds
        self.delays = Delays()
        self.shown = self.joined = 0  # decisions that were shown, and those that a reward came for
        self.settled = self.settled_joined = 0  # of those that were handed on
        self._open: dict[str, Pending] = {}
        self._queue: deque[Pending] = deque()
        self._due: list[tuple[int, int, str]] = []  # as `State.due`

    @property
    def waiting(self) -> int:
        return len(self._open)

    def decided(self, event: Decided, pending: Pending) -> None:
        self._open[event.id] = pending
        self.shown += event.active
        if self.wait is not None:
            self._queue.append(pending)
            heapq.heappush(self._due, (event.time + self.wait, event.round, event.id))
            if event.active:
                self._begin_wait(pending)
            self._hand_on_until(event.time)

    def activated(self, event: Activated) -> None:
        pending = self._open.get(event.id)
        if event.outcome == "applied" and pending is not None:
            pending.active = True
            self.shown += 1
            if self.wait is not None:
                self._begin_wait(pending)

    def _begin_wait(self, pending: Pending) -> None:
        self.within += 1
        if self.rules.default is not None:
            self.revise(pending, self.rules.default)

    def rewarded(self, event: Rewarded) -> None:
        pending = self._open.get(event.id)
        if event.outcome != "applied" or pending is None:
            return
        if not pending.came:
            pending.came = True
            self.joined += 1
            self.delays.add(event.time - pending.time)
        pending.reward = (pending.reward or 0.0) + event.value
        if pending.provisional is not None:
            self.revise(pending, pending.reward)
        if self.rules.rule == "first":
            self._close(event.id)

    def expire(self, time: int, most: int | None = None) -> None:
        """Close what is due, as `State.due_at`: the earliest deadlines first, at most so many."""
        closed = 0
        while self._due and self._due[0][0] < time and (most is None or closed < most):
            id = heapq.heappop(self._due)[2]
            pending = self._open.get(id)
            if pending is None:
                continue
            if not pending.came and pending.active:
                pending.reward = self.rules.default
            self._close(id)
            closed += 1
        self._hand_on_until(time)

    def _close(self, id: str) -> None:
        pending = self._open.pop(id)
        pending.closed = True
        if self.wait is None:
            self._hand_on(pending)

    def _hand_on_until(self, time: int) -> None:
        """Hand on the decisions that are closed and whose wait is over."""
        wait, queue = self.wait or 0, self._queue
        while queue and queue[0].closed and queue[0].time + wait < time:
            pending = queue.popleft()
            self.within -= pending.active
            if pending.provisional is not None:
                self.revise(pending, None)
            self._hand_on(pending)

    def _hand_on(self, pending: Pending) -> None:
        if pending.active:
            self.settled += 1
            self.settled_joined += pending.came
        self.settle(pending)

    @property
    def rate(self) -> float | None:
        """Return the share of decisions with a reward, among those whose wait is over."""
        if self.wait is None:
            return self.joined / self.shown if self.shown else None
        return self.settled_joined / self.settled if self.settled else None
