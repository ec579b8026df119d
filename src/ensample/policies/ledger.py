"""Rounds, open decisions and the log, kept in step with what a model has learned.

An update is written down as pending, learned by the model, entered in the books and then no longer pending. Whatever comes
between two of these steps, an error or Ctrl-C, once or again while it is being handled, the next look at the ledger finds the
pending entries and the model's own count of observations: it carries the update to its end if the model has learned it, and
puts back what there was before if not. Both may be done any number of times. So an update has happened whole or not at all.

One lock: several threads may use a policy, and each call is done before the next begins.
"""

import threading
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.errors import WrongType
from ensample.models.model import Model
from ensample.policies.decision import UNNUMBERED, Decision, Log
from ensample.types import FloatArray

__all__ = ["Entry", "Ledger", "LogSink"]


class Entry(NamedTuple):
    """One observation."""

    round: int
    arm: int  # of the standing arms, or UNNUMBERED
    x: FloatArray  # [d]
    y: float
    propensity: float  # NaN where it is not known


LogSink = Callable[[Entry], None]
"""Is given every observation once it is learned, where a policy keeps no log of its own."""


class Pending(NamedTuple):
    """Entries on their way from a decision to the books."""

    version: int  # what the model's count was before them
    others: int  # how many features of unnumbered arms the log had
    entries: tuple[Entry, ...]
    backup: dict[str, NDArray[np.generic]] | None  # the model's arrays before them; None where one call learns everything


class Ledger:
    """The books of one model. See the module."""

    def __init__(self, model: Model, standing: FloatArray | None, dim: int, log: "LogSink | bool | None" = True) -> None:
        self.lock = threading.RLock()
        self.model = model
        self.dim = dim
        self.standing = standing  # features of the numbered arms [K, d]
        self.round = 0  # the number of rounds begun
        self.version = 0  # the number of rewards learned
        self.open: dict[int, Decision] = {}
        self.keeps_log = log is True
        self.sink = checked_sink(log)
        self.rounds = array("q")
        self.arms = array("q")
        self.others = array("d")  # features of unnumbered arms, one after the other
        self.rewards = array("d")
        self.propensities = array("d")
        self._pending: Pending | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self.lock = threading.RLock()

    def open_round(self, decision: Decision) -> None:
        """Begin a round with its decision."""
        self.round += 1  # first: a round that was begun and has no decision does no harm, one that is used twice does
        self.open[decision._round] = decision

    def learn(self, entry: Entry) -> None:
        """Take in one observation."""
        model = self.model
        backup = None if model.whole else copies(model)
        self._pending = pending = Pending(self.version, len(self.others), (entry,), backup)
        try:
            model.learn(entry.round, entry.arm, entry.x, entry.y)
            model.settle()
            self._enter(pending)
            self._pending = None
        except BaseException:
            self.settle()
            raise
        if self.sink is not None:
            self.sink(entry)

    def learn_all(self, entries: list[Entry]) -> None:
        """Take in observations in this order: all of them or, on any error, none."""
        if not entries:
            return
        self._pending = Pending(self.version, len(self.others), tuple(entries), copies(self.model))
        try:
            for entry in entries:
                self.model.learn(entry.round, entry.arm, entry.x, entry.y)
                self.model.settle()
            self.settle()
        except BaseException:
            self.settle()
            raise
        if self.sink is not None:
            for entry in entries:
                self.sink(entry)

    def settle(self) -> None:
        """Bring an update that was cut short to its end, or undo it. Costs nothing where there is none."""
        pending = self._pending
        if pending is None:
            return
        learned = self.model.count - pending.version
        if learned == len(pending.entries):
            self.model.settle()
            self._cut(pending.version, pending.others)
            self._enter(pending)
        elif pending.backup is not None:
            for name, values in self.model.arrays().items():
                values[...] = pending.backup[name]
        self._pending = None

    def _enter(self, pending: Pending) -> None:
        """Write entries into the books."""
        keeps_log = self.keeps_log
        for round, arm, x, y, propensity in pending.entries:
            if keeps_log:
                if arm == UNNUMBERED:
                    self.others.extend(x)
                self.arms.append(arm)
                self.rewards.append(y)
                self.propensities.append(propensity)
                self.rounds.append(round)
            self.open.pop(round, None)
            if round >= self.round:
                self.round = round + 1
        self.version = pending.version + len(pending.entries)

    def _cut(self, version: int, others: int) -> None:
        """Cut the log back to a number of observations, also where the last were noted by half."""
        for column in (self.rounds, self.arms, self.rewards, self.propensities):
            del column[version:]
        del self.others[others:]

    def log(self) -> Log:
        """All observations so far, in the order of the fold."""
        arms = np.array(self.arms, dtype=np.int64)
        features = np.empty((arms.size, self.dim))
        if self.standing is not None:
            features[:] = self.standing[arms]  # rows of UNNUMBERED are overwritten next
        features[arms == UNNUMBERED] = self.other_features()
        rounds, rewards = np.array(self.rounds, dtype=np.int64), np.array(self.rewards, dtype=np.float64)
        return Log(rounds, features, rewards, arms, np.array(self.propensities, dtype=np.float64))

    def other_features(self) -> FloatArray:
        """Features in the log that are no standing arm's: [n, d]."""
        return np.array(self.others, dtype=np.float64).reshape(-1, self.dim)

    def columns(self) -> dict[str, "array[int] | array[float]"]:
        """The log as snapshots store it."""
        return {
            "rounds": self.rounds,
            "arms": self.arms,
            "others": self.others,
            "rewards": self.rewards,
            "propensities": self.propensities,
        }


def copies(model: Model) -> dict[str, NDArray[np.generic]]:
    return {name: values.copy() for name, values in model.arrays().items()}


def checked_sink(log: object) -> LogSink | None:
    if log is None or log is True:
        return None
    if not callable(log):
        raise WrongType("log", log, "True (keep it), None (keep none) or a function of each observation")
    return log
