"""The state of an experiment: a fold of its events. `apply` is all that changes it.

A new reward with which the model would not stay finite (`models.learning`) is an error and is not
kept. One that an earlier release has kept, and a default that is due, cannot be refused. It is left
out of the model, with a warning that names the decision.
"""

import heapq
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ensample.errors import LeftOutWarning, NonFiniteError
from ensample.experiments.events import (
    Activated,
    Changed,
    Created,
    Decided,
    Event,
    Expired,
    Learned,
    Rewarded,
)
from ensample.experiments.features import Featuriser
from ensample.experiments.features.vocabulary import size_for
from ensample.experiments.inputs import Actions
from ensample.experiments.learner import Learner
from ensample.experiments.settings import Settings
from ensample.types import FloatArray, IntArray

SETTLED = 10_000
"""Rewards after which x grows no more. Until then they are kept, and learned again if it grows."""


class Observation(NamedTuple):
    """A reward that was learned, with its features by the columns that are not 0."""

    round: int
    columns: IntArray
    numbers: FloatArray
    y: float


class Open(NamedTuple):
    """A decision that waits for its reward.

    Where something changes, another takes its place: a snapshot may have this one.
    """

    id: str
    round: int
    deadline: int | None
    action: str
    columns: IntArray  # of x, where it is not 0
    numbers: FloatArray
    active: bool
    total: float = 0.0  # of rewards that are added up
    rewards: int = 0
    keys: tuple[str, ...] = ()

    def is_late(self, time: int) -> bool:
        return self.deadline is not None and time > self.deadline


Waiting = dict[str, Open]


class State:
    """All that an experiment knows. See the module."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seq = 0  # the number of events taken in
        self.time = 0  # the latest of theirs; beside what snapshots hash
        self.applying = False  # whether one was cut short
        self.actions: Actions = dict(settings.actions or {})
        self.standing: tuple[str, ...] = tuple(self.actions)
        self.featuriser = Featuriser(settings.features)
        self.mark = 0  # what the featuriser has seen of events taken in
        self.learner = Learner(settings.recipe, self.featuriser.dim, settings.stream_seed)
        self.grows = settings.features.hashed is None  # whether x may still become longer
        self.past: list[Observation] = []
        self.round = 0
        self.open: Waiting = {}
        self.due: list[tuple[int, int, str]] = []  # a heap of (deadline, round, id), some closed
        self.counts: dict[str, int] = {}
        self.left_out = 0  # rewards that were kept and that the model refuses
        self.why_left_out = ""  # which one was the first

    def apply(
        self,
        event: Event,
        rows: FloatArray | None = None,
        learner: Learner | None = None,
        *,
        new: bool = False,
    ) -> None:
        """Take in an event. `rows` and `learner`, if at hand, need not be computed again.

        Raise if a `new` event, one that can still be taken back, brings a reward that the model
        refuses.
        """
        self.applying, before = True, self.left_out
        match event:
            case Decided():
                self._decided(event, rows, learner)
            case Rewarded():
                self._rewarded(event, new)
            case Expired():
                for waiting in self.due_at(event.time, event.most):
                    self._expire(waiting)
            case Activated():
                if event.outcome == "applied":
                    self.open[event.id] = self.open[event.id]._replace(active=True)
            case Changed():
                self._changed(event)
            case Learned():
                for row in event.rows:
                    self._learned(row, new)
            case Created():
                pass
        self.mark = self.featuriser.mark
        self.time = max(self.time, event.time)
        self.seq += 1
        self.applying = False
        if self.left_out and not before:
            warnings.warn(
                f"{self.settings.name}: {self.why_left_out}", LeftOutWarning, stacklevel=2
            )

    def settle_columns(self) -> bool:
        """Return True unless an event was cut short; drop columns that are in no event."""
        if not self.applying:
            self.drop_unkept()
        return not self.applying

    def drop_unkept(self) -> None:
        """Drop the columns of questions that led to no event."""
        self.featuriser.cut(self.mark)

    def features_of(
        self, names: tuple[str, ...], moment: "dict[str, Any] | None"
    ) -> "list[Any] | None":
        """Return the features of actions, those of the moment first; None if none has any."""
        actions = self.actions
        if moment is None:
            owned = [actions.get(name) for name in names]
        else:
            owned = [merged(actions.get(name), moment.get(name)) for name in names]
        return None if all(item is None for item in owned) else owned

    def rows(
        self,
        context: Any,
        names: tuple[str, ...],
        moment: "dict[str, Any] | None",
        new: bool = False,
    ) -> tuple[FloatArray, Learner]:
        """Return x of the actions [d, K], and a learner with room for it, for `apply`.

        Raise on numbers that are too large, where they are `new`: what was decided before is taken
        in as it was.
        """
        rows = self.featuriser.rows(context, names, self.features_of(names, moment))
        if new:
            self.featuriser.check(rows, names)
        return rows, self.learner if len(rows) == self.learner.dim else self._grown(len(rows))

    def due_at(self, time: int, most: int | None) -> list[Open]:
        """Take decisions whose wait is over off the heap, the earliest first."""
        found: list[Open] = []
        while self.due and self.due[0][0] < time and (most is None or len(found) < most):
            _, round, id = heapq.heappop(self.due)
            waiting = self.open.get(id)
            if waiting is not None and waiting.round == round:
                found.append(waiting)
        return found

    def next_due(self) -> int | None:
        """Return the earliest deadline of an open decision."""
        while self.due:
            deadline, round, id = self.due[0]
            waiting = self.open.get(id)
            if waiting is not None and waiting.round == round:
                return deadline
            heapq.heappop(self.due)
        return None

    def _decided(self, event: Decided, rows: FloatArray | None, learner: Learner | None) -> None:
        names = tuple(event.offer)
        if rows is None or learner is None:
            rows, learner = self.rows(event.context, names, event.features)
        self.learner = learner
        x = rows[:, names.index(event.action)]
        columns = x.nonzero()[0]
        wait = self.settings.reward.wait_microseconds
        deadline = None if wait is None else event.time + wait
        known = event.id, event.round, deadline, event.action
        self.open[event.id] = Open(*known, columns, x[columns], event.active)
        if deadline is not None:
            heapq.heappush(self.due, (deadline, event.round, event.id))
        self.round = event.round + 1

    def _rewarded(self, event: Rewarded, new: bool) -> None:
        if event.outcome == "applied":
            waiting = self.open[event.id]
            if self.settings.reward.rule == "sum":
                keys = waiting.keys if event.key is None else (*waiting.keys, event.key)
                total = waiting.total + event.value
                self.open[event.id] = waiting._replace(
                    total=total, rewards=waiting.rewards + 1, keys=keys
                )
            else:
                self._reward(waiting, event.value, new)
        self.counts[event.outcome] = self.counts.get(event.outcome, 0) + 1

    def _reward(self, waiting: Open, y: float, new: bool) -> None:
        """Learn the reward of a decision, which is closed by it."""
        observation = Observation(waiting.round, waiting.columns, waiting.numbers, y)
        try:
            self._learn(observation, waiting.id, new)
        except NonFiniteError:
            self.applying = False  # nothing has changed
            raise
        del self.open[waiting.id]

    def _expire(self, waiting: Open) -> None:
        """Close a decision: it has the sum of its rewards, the default, or none."""
        y = waiting.total if waiting.rewards else self.settings.reward.default
        expires = y is None or not (waiting.rewards or waiting.active)
        if not waiting.rewards:
            outcome = "expired" if expires else "default"
            self.counts[outcome] = self.counts.get(outcome, 0) + 1
        if y is None or expires:
            del self.open[waiting.id]
        else:
            self._reward(waiting, y, new=False)

    def _changed(self, event: Changed) -> None:
        kept = {name: own for name, own in self.actions.items() if name not in event.removed}
        self.actions = kept | event.added
        self.standing = tuple(self.actions)

    def _learned(self, row: list[Any], new: bool) -> None:
        context, action, features, y = row
        moment = None if features is None else {action: features}
        rows, self.learner = self.rows(context, (action,), moment, new)
        columns = np.flatnonzero(rows[:, 0])
        observation = Observation(self.round, columns, rows[columns, 0], y)
        self.round += 1
        self._learn(observation, f"row {observation.round} of learn()", new)

    def _learn(self, observation: Observation, of: str, new: bool) -> None:
        """Learn an observation; `of` names its decision in a warning."""
        try:
            teach(self.learner, observation)
        except NonFiniteError as error:
            if new:
                raise
            self.left_out += 1
            self.why_left_out = self.why_left_out or (
                f"the reward of {of!r} (event {self.seq}) is left out of the model, as may be "
                f"later ones: {error}"
            )
            return
        if self.grows:
            self.past.append(observation)
            if len(self.past) >= SETTLED:
                self._settle()

    def _settle(self) -> None:
        """Grow for the last time, to twice what is used. What is new after that shares columns."""
        seen = self.featuriser.seen
        seen.freeze(min(seen.cap, size_for(2 * len(seen.columns))))
        self.learner = self._grown(self.featuriser.dim)
        self.grows = False
        self.past = []

    def _grown(self, dim: int) -> Learner:
        """Return a learner of more features that has learned the same, in the same order."""
        learner = Learner(self.settings.recipe, dim, self.settings.stream_seed)
        for observation in self.past:
            with suppress(NonFiniteError):  # in more dimensions other sums are rounded
                teach(learner, observation)
        return learner


def merged(
    standing: "dict[str, Any] | None", moment: "dict[str, Any] | None"
) -> "dict[str, Any] | None":
    if standing is None or moment is None:
        return standing if moment is None else moment
    return {**standing, **moment}


def teach(learner: Learner, observation: Observation) -> None:
    x = np.zeros(learner.dim)
    x[observation.columns] = observation.numbers
    learner.learn(observation.round, x, observation.y)
