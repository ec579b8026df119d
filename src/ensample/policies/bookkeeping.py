"""Rounds, open decisions and the log, kept in step with what a model has learned.

One lock: several threads may use a policy, and each call is done before the next begins. A fork
waits for the call at work.
"""

import math
import threading
from array import array
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Self

import numpy as np

from ensample.arms import Arms
from ensample.checks import vector, whole
from ensample.errors import DecisionError, ForkError, InvalidArgument, WrongType
from ensample.fork_safety import RefusedLock, register
from ensample.frames import is_column, is_frame
from ensample.models.base import Model
from ensample.models.learning import Learning, Observation
from ensample.policies.decision import LAST_ROUND, UNNUMBERED, Decision
from ensample.policies.log import Log, LogEntry
from ensample.types import FloatArray

UNKNOWN = math.nan  # a propensity that was not asked for

LogSink = Callable[[LogEntry], None]
"""Called with each observation once, in order, after it was learned."""


class Bookkeeping(Learning):
    """The rounds of one policy, from decision to reward."""

    def __init__(
        self, model: Model, arms: Arms, log: LogSink | bool | None = True, numbered_only: str = ""
    ) -> None:
        """`numbered_only`: what an error calls a policy that learns of standing arms only."""
        self.lock: threading.RLock | RefusedLock = threading.RLock()
        register(self)
        self.dim, self.standing = arms.dim, arms.rows  # features of the numbered arms [K, d]
        self.numbered_only = numbered_only
        self.round = 0  # the number of rounds begun
        self.open: dict[int, Decision] = {}
        self.keeps_log = log is True
        self.sink = checked_sink(log)
        self.undelivered: deque[Observation] = deque()  # learned, and not yet given to the sink
        self.rounds, self.arms = array("q"), array("q")
        self.others = array("d")  # features of unnumbered arms, one after the other
        self.rewards, self.propensities = array("d"), array("d")
        super().__init__(model, arms.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self.lock = threading.RLock()
        register(self)

    def after_fork_in_child(self, at_rest: bool) -> None:
        if not at_rest:
            expected = (
                "at rest: fork while no thread uses it, or start it in the process that uses it"
            )
            error = ForkError("a policy that another thread was changing", expected)
            self.lock = RefusedLock(error)

    def settled(self) -> Self:
        """Return this, with no update cut short."""
        if self.pending is not None:
            with self.lock:
                self.settle()
        return self

    def deliver(self) -> None:
        """Give the sink what it has not been given, once. What it raises comes out."""
        while self.undelivered and self.sink is not None:
            self.sink(LogEntry(*self.undelivered.popleft()))

    def find(self, decision: Decision, taken: Collection[int] = ()) -> Decision:
        """Return this policy's own open decision for one that may come from elsewhere.

        A decision that was read from a file or sent by another process is equal to its own.
        """
        known = self.settled().open.get(decision.round)
        if known is None or not known.stands_for(decision) or known.round in taken:
            expected = "an open decision of this policy, rewarded once"
            raise DecisionError("decision", decision, expected)
        return known

    def find_round(self, round: object) -> Decision:
        """Return the open decision of a round."""
        number = whole("round", round, 0, LAST_ROUND)
        decision = self.open.get(number)
        if decision is None:
            raise DecisionError("round", number, "the round of an open decision")
        return decision

    def find_arm(self, arm: int, taken: Collection[int]) -> Decision | None:
        """Return the oldest open decision for a standing arm, if there is one."""
        for round, waiting in self.open.items():
            if waiting.arm == arm and waiting.standing and round not in taken:
                return waiting
        return None

    def observation(
        self, decision: object, y: float, fresh: int, taken: Collection[int]
    ) -> Observation:
        """Return the observation of a reward of a decision, or of an arm.

        `fresh` is the next free round, `taken` are rounds of the same call.
        """
        rows = self.standing
        if isinstance(decision, int | np.integer) and rows is not None:
            arm = whole("arm", decision, 0, len(rows) - 1)
            waiting = self.find_arm(arm, taken)
            if waiting is None:
                return fresh, arm, rows[arm], y, UNKNOWN
            decision = waiting
        if isinstance(decision, Decision):
            own = self.find(decision, taken)
            numbered = own.standing and own.arm is not None
            share = UNKNOWN if own.propensity is None else own.propensity
            return own.round, own.arm if numbered else UNNUMBERED, own.features, y, share
        if not lists_numbers(decision):
            kinds = "a decision" if rows is None else "a decision, the index of an arm"
            expected = f"{kinds} or a vector of {self.dim} features"
            raise WrongType("decision", decision, expected)
        if self.numbered_only:
            expected = f"a decision or the number of an arm for {self.numbered_only}"
            raise InvalidArgument("arm", decision, expected)
        x = vector("arm", decision, self.dim)
        x.setflags(write=False)  # as those of arms and decisions are
        return fresh, UNNUMBERED, x, y, UNKNOWN

    def _enter(self, entries: Sequence[Observation]) -> None:
        for round, arm, x, y, propensity in entries:
            if self.keeps_log:
                if arm == UNNUMBERED:
                    self.others.frombytes(np.asarray(x, np.float64).tobytes())
                self.arms.append(arm)
                self.rewards.append(y)
                self.propensities.append(propensity)
                self.rounds.append(round)
            self.open.pop(round, None)
            if round >= self.round:
                self.round = round + 1
        waits = self.undelivered
        if self.sink is not None and not (waits and waits[-1] is entries[-1]):
            waits.extend(entries)

    def _drop_after(self, version: int) -> None:
        for column in (self.rounds, self.arms, self.rewards, self.propensities):
            del column[version:]
        del self.others[self.dim * self.arms.count(UNNUMBERED) :]

    def log_to(self, log: LogSink | bool | None) -> None:
        """Go on with what `start` calls `log`. Without a log, drop what was kept so far.

        Raise if what was learned needs the log that would be dropped.
        """
        sink = checked_sink(log)
        if log is True:
            return
        kept, self.model.history = self.model.history, None
        fault = self.model.fault()
        if fault is not None:
            self.model.history = kept
            raise InvalidArgument("log", log, f"True: there are {fault}")
        self.sink = sink
        self.keeps_log = False
        for column in self.columns().values():
            del column[:]

    def require_log(self, purpose: str) -> None:
        if not self.keeps_log:
            raise InvalidArgument("log", None, f"a policy started with its log kept, for {purpose}")

    def log(self) -> Log:
        """Return all observations so far, in the order in which they were learned."""
        arms = np.array(self.arms, dtype=np.int64)
        features = np.empty((arms.size, self.dim))
        if self.standing is not None:
            features[:] = self.standing[arms]  # rows of UNNUMBERED are overwritten next
        features[arms == UNNUMBERED] = self.other_features()
        rounds, rewards = np.array(self.rounds, np.int64), np.array(self.rewards, np.float64)
        return Log(rounds, features, rewards, arms, np.array(self.propensities, np.float64))

    def history(self) -> tuple[FloatArray, FloatArray]:
        """Return features [n, d] and rewards [n] of the log."""
        log = self.log()
        return log.features, log.reward

    def other_features(self) -> FloatArray:
        """Return the features in the log that are no standing arm's: [n, d]."""
        return np.array(self.others, dtype=np.float64).reshape(-1, self.dim)

    def columns(self) -> dict[str, "array[int] | array[float]"]:
        """Return the log as snapshots store it."""
        return {
            "rounds": self.rounds,
            "arms": self.arms,
            "others": self.others,
            "rewards": self.rewards,
            "propensities": self.propensities,
        }


def lists_numbers(value: object) -> bool:
    """Return True if it lists numbers, as features do."""
    if isinstance(value, Sequence | np.ndarray):
        return not isinstance(value, str | bytes)
    return is_column(value) or is_frame(value)


def checked_sink(log: object) -> LogSink | None:
    if log is None or log is True:
        return None
    if not callable(log):
        expected = "True (keep it), None (keep none) or a function of each observation"
        raise WrongType("log", log, expected)
    return log
