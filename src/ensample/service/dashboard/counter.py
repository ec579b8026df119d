"""Summaries of experiments, counted while nobody calls and when somebody looks."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ensample.errors import EnsampleError, StorageError
from ensample.experiments import Experiment
from ensample.experiments.mixture import Mixture
from ensample.experiments.snapshots import restored
from ensample.experiments.storage.base import Reading
from ensample.service.dashboard.summary import Posed, Summary

BUDGET = 0.7  # seconds of one look
ALONG = 0.5  # seconds of each in which nobody calls
PIECE = 25  # events, less than half a millisecond, between two looks at the clock

Enough = Callable[[], bool]


class Verified(NamedTuple):
    """The last snapshot, whose content was hashed again when it was first seen here."""

    seq: int
    hash: str
    fits: bool


class Counter:
    """The summary of one experiment. Hold `lock` while looking at it."""

    def __init__(self, experiment: Experiment) -> None:
        self.lock = threading.Lock()
        self.summary = Summary(experiment.settings)
        self.events = 0  # when it was last counted
        self.verified: Verified | None = None
        self._awaited = False  # by somebody who looks

    @property
    def done(self) -> float:
        """The share of events that is counted."""
        return self.summary.seq / self.events if self.events else 1.0

    def look(self, experiment: Experiment, budget: float, now: int | None) -> None:
        """Count for so many seconds at most, and hash the last snapshot again.

        All events before `now` are committed: once they are counted, the waits that are over at
        `now` are over here too.
        """
        self._awaited = True
        with self.lock, closing(experiment.reader()) as reader:
            self._awaited = False
            self._count(reader, enough=after(budget), now=now)
            self._verify(experiment, reader)

    def go_along(self, experiment: Experiment, enough: Enough) -> None:
        """Count until somebody looks."""
        if self.summary.seq < experiment.events and self.lock.acquire(blocking=False):
            try:
                with closing(experiment.reader()) as reader:
                    self._count(reader, lambda: self._awaited or enough())
            finally:
                self.lock.release()

    def _count(self, reader: Reading, enough: Enough, now: int | None = None) -> None:
        self.events = reader.count
        summary = self.summary
        if summary.seq < reader.count:
            for number, event in enumerate(reader.read(summary.seq), 1):
                summary.enter(event)
                if number % PIECE == 0 and enough():
                    break
        if now is not None and summary.seq == reader.count:
            summary.settle(now)
        summary.flush()

    def _verify(self, experiment: Experiment, reader: Reading) -> None:
        last = next(iter(reader.snapshots()), None)
        if last is None or (self.verified is not None and self.verified.seq == last.seq):
            return
        try:
            restored(experiment.settings, last)
            fits = True
        except EnsampleError:
            fits = False
        self.verified = Verified(last.seq, last.hash, fits)


COUNTERS: "WeakKeyDictionary[Experiment, Counter]" = WeakKeyDictionary()
GUARD = threading.Lock()


def counter_of(experiment: Experiment) -> Counter:
    """Return the counter of an experiment, which has what is counted by now."""
    with GUARD:
        found = COUNTERS.get(experiment)
        if found is None:
            found = COUNTERS[experiment] = Counter(experiment)
        return found


def after(budget: float) -> Enough:
    until = time.monotonic() + budget
    return lambda: time.monotonic() > until


def count_along(experiments: Sequence[Experiment], budget: float = ALONG) -> None:
    """Count until one of the experiments gets an event: callers are not to wait for this."""

    def events() -> int:
        return sum(experiment.events for experiment in experiments)

    before, over = events(), after(budget)
    for experiment in experiments:
        with suppress(EnsampleError):  # whoever looks gets the error
            counter_of(experiment).go_along(experiment, lambda: over() or events() != before)


def counted(
    experiment: Experiment, budget: float = BUDGET, now: int | None = None
) -> tuple[Counter, list[Posed]]:
    """Count on, as of `now` if it is known. Return the counter and the last questions."""
    found = counter_of(experiment)
    found.look(experiment, budget, now)
    with found.lock:
        return found, list(found.summary.recent)


class Present(NamedTuple):
    """An experiment at this moment."""

    actions: list[str]
    decisions: int
    version: int
    waiting: int
    counts: dict[str, int]
    events: int
    votes: dict[str, float]  # share of the members for each action, a mean over the last questions
    asked: int  # questions behind the votes
    disagreement: float | None


def present(experiment: Experiment, recent: Sequence[Posed]) -> Present:
    """Ask the last questions again without storing anything.

    Ask it of the worker, so that nothing changes.
    """
    found = [weights for posed in recent if (weights := weights_now(experiment, posed)) is not None]
    votes: dict[str, float] = {}
    for weights in found:
        for name, weight in weights.items():
            votes[name] = votes.get(name, 0.0) + weight / len(found)
    apart = [1.0 - sum(weight * weight for weight in weights.values()) for weights in found]
    return Present(
        actions=experiment.actions,
        decisions=experiment.decisions,
        version=experiment.version,
        waiting=experiment.waiting,
        counts=experiment.counts,
        events=experiment.events,
        votes=votes,
        asked=len(found),
        disagreement=sum(apart) / len(apart) if apart else None,
    )


def weights_now(experiment: Experiment, posed: Posed) -> dict[str, float] | None:
    """Return the policy's own probabilities, or None if they cannot be known now."""
    try:
        known = experiment.propensities(posed.context, posed.actions)
    except StorageError:
        raise
    except EnsampleError:
        return None
    if known is None:
        return None
    names, settings = list(known), experiment.settings
    place, share = None, 0.0
    if settings.baseline is not None and settings.baseline[0] in names:
        place, share = names.index(settings.baseline[0]), settings.baseline[1]
    weights = Mixture(settings.floor, share, place, len(names)).weights(list(known.values()))
    return None if weights is None else dict(zip(names, weights, strict=True))
