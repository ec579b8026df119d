"""The log of an experiment, built from its events piece by piece.

Events are read twice: first for the outcome of each decision, which may be known long after it,
then for the decisions themselves. So no more is held at once than a piece of rows and some two
hundred bytes a decision.
"""

import heapq
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from ensample.experiments.events import Activated, Changed, Decided, Event, Expired, Rewarded
from ensample.experiments.inputs import Actions
from ensample.experiments.log.table import LOG_VERSION, Row, compact, frame_of
from ensample.experiments.settings import Settings
from ensample.experiments.state import merged

if TYPE_CHECKING:
    import polars

PIECE = 20_000  # rows
OUTCOMES = ("waiting", "applied", "default", "expired")
WAITING, APPLIED, DEFAULT, EXPIRED = range(4)
COUNTED = ("duplicate", "late", "not_shown")


class LateReward(TypedDict):
    """A reward that came after the wait: it is kept, and does not count."""

    value: float
    time: int


class DecisionResult(NamedTuple):
    """The columns of the log that are known only later."""

    active: bool
    reward: float | None
    outcome: str
    reward_time: int | None
    duplicate: int
    late: int
    not_shown: int
    late_rewards: list[LateReward]


class DecisionResults:
    """The result of each decision, by its number, in a few bytes each."""

    def __init__(self, settings: Settings) -> None:
        self.rules = settings.reward
        self.numbers: dict[str, int] = {}  # of the decisions, by id
        self.active, self.outcomes, self.rewarded = bytearray(), bytearray(), bytearray()
        self.rewards, self.times = array("d"), array("q")
        self.counts: dict[int, list[int]] = {}  # of rewards that did not count; most have none
        self.late: dict[int, list[LateReward]] = {}
        self.keys: dict[int, set[str]] = {}  # of rewards, so that one sent again is kept once
        self.due: list[tuple[int, int, int]] = []  # a heap of (deadline, round, number)

    def __getitem__(self, number: int) -> DecisionResult:
        has = bool(self.rewarded[number])
        duplicate, late, not_shown = self.counts.get(number, (0, 0, 0))
        return DecisionResult(
            bool(self.active[number]),
            self.rewards[number] if has else None,
            OUTCOMES[self.outcomes[number]],
            self.times[number] if has else None,
            duplicate,
            late,
            not_shown,
            self.late.get(number, []),
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
                self.close_due(event.time, event.most)

    def close_due(self, time: int, most: int | None = None) -> None:
        """Close the decisions whose wait is over, at most so many, the earliest deadlines first."""
        closed = 0
        while self.due and self.due[0][0] < time and (most is None or closed < most):
            deadline, _, number = heapq.heappop(self.due)
            if self.outcomes[number] == WAITING:
                self._expire(number, deadline)
                closed += 1

    def _decided(self, event: Decided) -> None:
        number, wait = len(self.numbers), self.rules.wait_microseconds
        self.numbers[event.id] = number
        self.active.append(event.active)
        self.outcomes.append(WAITING)
        self.rewarded.append(False)
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
            if event.outcome == "late" and self._add_key(number, event.key):
                late: LateReward = {"value": event.value, "time": event.time}
                self.late.setdefault(number, []).append(late)
            return
        total = self.rewards[number] + event.value if self.rewarded[number] else event.value
        self._pay(number, total, event.time)
        if self.rules.rule == "first":
            self.outcomes[number] = APPLIED
        else:
            self._add_key(number, event.key)

    def _add_key(self, number: int, key: str | None) -> bool:
        """Add the key of a reward to those of its decision; return False if it is there already."""
        if key is None:
            return True
        known = self.keys.setdefault(number, set())
        is_new = key not in known
        known.add(key)
        return is_new

    def _pay(self, number: int, reward: float, time: int) -> None:
        self.rewarded[number] = True
        self.rewards[number], self.times[number] = reward, time

    def _expire(self, number: int, deadline: int) -> None:
        """Close a decision. The default counts from the deadline on, whenever it is learned."""
        if number not in self.late:  # a reward that is sent again is a duplicate from now on
            self.keys.pop(number, None)
        if self.rewarded[number]:
            self.outcomes[number] = APPLIED
        elif self.rules.default is None or not self.active[number]:
            self.outcomes[number] = EXPIRED
        else:
            self.outcomes[number] = DEFAULT
            self._pay(number, self.rules.default, deadline)


def log_frames(
    settings: Settings, read: Callable[[], Iterable[Event]], now: int | None
) -> "Iterator[polars.DataFrame]":
    """Yield the log as of `now` as frames, at least one; `read` gives the same events each time."""
    rows: list[Row] = []
    is_first = True
    for row in log_rows(settings, read, now):
        rows.append(row)
        if len(rows) == PIECE:
            yield frame_of(rows)
            rows, is_first = [], False
    if rows or is_first:
        yield frame_of(rows)


def log_rows(
    settings: Settings, read: Callable[[], Iterable[Event]], now: int | None = None
) -> Iterator[Row]:
    """Yield a row for each decision as it is at `now`; None: as the events leave it."""
    results = DecisionResults(settings)
    for event in read():
        results.enter(event)
    if now is not None:
        results.close_due(now)
    actions: Actions = dict(settings.actions or {})
    number = 0
    for event in read():
        if isinstance(event, Changed):
            kept = {name: known for name, known in actions.items() if name not in event.removed}
            actions = kept | event.added
        elif isinstance(event, Decided):
            yield decided_row(settings, actions, event) | results[number]._asdict()
            number += 1


def decided_row(settings: Settings, actions: Actions, event: Decided) -> Row:
    """Return what is known of a decision when it is taken."""
    names, known, reward = event.offer, event.propensities, settings.reward
    moment = event.features or {}
    features = {name: merged(actions.get(name), moment.get(name)) for name in names}
    has_features = any(item is not None for item in features.values())
    baseline, share = settings.baseline or (None, 0.0)
    if baseline not in names:
        baseline, share = None, 0.0
    is_bounded = reward.rule == "first"  # a sum is not
    return {
        "log_version": LOG_VERSION,
        "id": event.id,
        "time": event.time,
        "experiment": settings.name,
        "policy_version": event.version,
        "round": event.round,
        "context": compact(event.context),
        "offer": list(names),
        "features": compact(features) if has_features else None,
        "action": event.action,
        "propensity": None if known is None else known[names.index(event.action)],
        "propensities": None if known is None else list(known),
        "member": event.member,
        "drawn": event.drawn,
        "floor": settings.floor,
        "baseline": baseline,
        "share": share,
        "reward_low": reward.low if is_bounded else None,
        "reward_high": reward.high if is_bounded else None,
    }
