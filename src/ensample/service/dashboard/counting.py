"""Summaries of experiments, each counted on from where it stopped: while nobody calls, and when somebody looks."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ensample.errors import EnsampleError
from ensample.experiments import Experiment
from ensample.experiments.snapshots import restored
from ensample.experiments.storage.base import Reading
from ensample.service.dashboard.summary import Posed, Summary

BUDGET = 0.7  # seconds of one look
ALONG = 0.5  # seconds of each in which nobody calls
PIECE = 25  # events, less than half a millisecond, after which it is asked whether that is enough

Enough = Callable[[], bool]


class Verified(NamedTuple):
    """The last snapshot: its content was hashed again when it was first seen here."""

    seq: int
    hash: str
    fits: bool


class Counted:
    """The summary of one experiment; hold `lock` while looking at it."""

    def __init__(self, experiment: Experiment) -> None:
        self.lock = threading.Lock()
        self.summary = Summary(experiment.settings)
        self.events = 0  # there were when it was last counted
        self.verified: Verified | None = None
        self._awaited = False  # by somebody who looks

    @property
    def done(self) -> float:
        """The share of events that is counted."""
        return self.summary.seq / self.events if self.events else 1.0

    def look(self, experiment: Experiment, budget: float, now: int | None) -> None:
        """Count for so many seconds at most, in the thread that asks, and hash the last snapshot again.

        All events before `now` are committed: once they are counted, the waits that are over at `now` are over here too.
        """
        self._awaited = True
        with self.lock, closing(experiment.reader()) as reader:
            self._awaited = False
            self._count(reader, enough=after(budget), now=now)
            self._verify(experiment, reader)

    def go_along(self, experiment: Experiment, enough: Enough) -> None:
        """Count, until somebody looks."""
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


KEPT: "WeakKeyDictionary[Experiment, Counted]" = WeakKeyDictionary()
GUARD = threading.Lock()


def known(experiment: Experiment) -> Counted:
    """What is counted by now."""
    with GUARD:
        found = KEPT.get(experiment)
        if found is None:
            found = KEPT[experiment] = Counted(experiment)
        return found


def after(budget: float) -> Enough:
    """Once so many seconds are over."""
    until = time.monotonic() + budget
    return lambda: time.monotonic() > until


def count_along(experiments: Sequence[Experiment], budget: float = ALONG) -> None:
    """Until something happens to one of them: whoever calls is not to wait for it, and whoever looks later has less to wait."""

    def happened() -> int:
        return sum(experiment.events for experiment in experiments)

    before, over = happened(), after(budget)
    for experiment in experiments:
        with suppress(EnsampleError):  # whoever looks is told
            known(experiment).go_along(experiment, lambda: over() or happened() != before)


def counted(
    experiment: Experiment, budget: float = BUDGET, now: int | None = None
) -> tuple[Counted, list[Posed]]:
    """Count on, as of `now` where it is known; return the summary and the last questions."""
    found = known(experiment)
    found.look(experiment, budget, now)
    with found.lock:
        return found, list(found.summary.recent)
