"""Summaries of experiments, each counted on from where it stopped when somebody looks, for a second at most."""

import threading
import time
from contextlib import closing
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ensample.errors import EnsampleError
from ensample.experiments import Experiment
from ensample.experiments.snapshotting import restored
from ensample.experiments.storage import Reading
from ensample.serve.dashboard.summary import Posed, Summary

__all__ = ["BUDGET", "Counted", "Verified", "counted", "known"]

BUDGET = 0.9  # seconds of one look
PIECE = 500  # events between two looks at the clock


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

    @property
    def done(self) -> float:
        """The share of events that is counted."""
        return self.summary.seq / self.events if self.events else 1.0

    def go_on(self, experiment: Experiment, budget: float) -> None:
        """Count for so many seconds at most, in the thread that asks."""
        with self.lock, closing(experiment.reader()) as reader:
            self.events = reader.count
            self._count(reader, time.monotonic() + budget)
            self._verify(experiment, reader)

    def _count(self, reader: Reading, until: float) -> None:
        summary = self.summary
        if summary.seq < reader.count:
            for number, event in enumerate(reader.read(summary.seq), 1):
                summary.enter(event)
                if number % PIECE == 0 and time.monotonic() > until:
                    break
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


def counted(experiment: Experiment, budget: float = BUDGET) -> tuple[Counted, list[Posed]]:
    """Counted on, and the last questions."""
    found = known(experiment)
    found.go_on(experiment, budget)
    with found.lock:
        return found, list(found.summary.recent)
