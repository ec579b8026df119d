"""What the service answers, as plain data."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Outcome = Literal["applied", "duplicate", "late", "unknown", "not_shown"]
"""What became of a reward: it counts; there is one already; the wait was over; no such decision; another action was shown."""


class Decision(NamedTuple):
    """Which action, and how likely it was. The fields are those of `ensample.NamedDecision`."""

    id: str
    action: str
    propensity: float | None
    propensities: dict[str, float] | None
    member: int | None
    drawn: str
    version: int
    time: int
    active: bool


class ExperimentView(NamedTuple):
    """An experiment as it is now."""

    name: str
    settings: dict[str, Any]
    actions: list[str]
    decisions: int
    version: int
    waiting: int
    outcomes: dict[str, int]
    events: int
    paused: bool


class EventOutcome(NamedTuple):
    """What became of an event, and the decision that it was the reward of."""

    outcome: Outcome
    id: str | None


class Explained(NamedTuple):
    """How a decision came about: votes, scores and features of the time."""

    id: str
    action: str
    drawn: str
    member: int
    version: int
    propensities: dict[str, float] | None
    votes: dict[str, float] | None
    scores: dict[str, float] | None
    features: dict[str, dict[str, float]]
    mixture: dict[str, Any]


def reading(kind: type[T]) -> Callable[[Any], T]:
    """From JSON; fields that a later service may add are passed over.

    >>> reading(EventOutcome)({"outcome": "applied", "id": "q1", "more": 1})
    EventOutcome(outcome='applied', id='q1')
    """
    names = kind._fields  # type: ignore[attr-defined]
    return lambda answer: kind(*(answer[name] for name in names))


def reading_decision(answer: Any) -> Decision:
    """Read a decision, whose time is sent as text (ISO 8601).

    >>> answer = {"id": "q", "action": "tea", "propensity": 1.0, "propensities": {"tea": 1.0}, "member": 0, "drawn": "policy"}
    >>> reading_decision(answer | {"version": 0, "time": "1970-01-01T00:00:02.5Z", "active": True}).time
    2500000
    """
    time = datetime.fromisoformat(answer["time"])
    return reading(Decision)(answer | {"time": (time - EPOCH) // timedelta(microseconds=1)})
