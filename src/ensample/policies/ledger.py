"""Rounds, open decisions and the log, kept in step with what a model has learned.

An update is written down as pending, learned by the model, entered in the books and then no longer pending. Whatever comes
between two of these steps, an error or Ctrl-C, once or again while it is being handled, the next look at the ledger finds the
pending entries and the model's own count of observations: it carries the update to its end if the model has learned it, and
puts back what there was before if not. Both may be done any number of times. So an update has happened whole or not at all.

A function that is given the log gets every observation that was learned, in the order of the fold, at least once. They wait in
a queue, which is part of the books: what an interrupt kept from it is handed over by the next look at the ledger, what it
refused by the next update, before anything is learned. So the queue is never longer than one update.

No number of a model becomes infinite or NaN. Ordinary observations cannot do that to an ordinary model (`Model.is_bounded`) and
are learned at once, which costs a comparison or two. For all others the arrays are copied before and checked after: an
observation that they cannot hold is refused, and the copy is put back.

One lock: several threads may use a policy, and each call is done before the next begins. A fork waits for the call at work.
"""

import sys
import threading
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.checks import ORDINARY_REWARD, are_within
from ensample.errors import ForkError, InvalidArgument, NonFiniteError, WrongType
from ensample.fork_safety import RefusedLock, register
from ensample.models.model import Model
from ensample.policies.decision import UNNUMBERED, Decision, Log
from ensample.types import FloatArray


class LogEntry(NamedTuple):
    """One observation."""

    round: int
    arm: int  # of the standing arms, or UNNUMBERED
    x: FloatArray  # [d]
    y: float
    propensity: float  # NaN where it is not known


Observation = tuple[int, int, FloatArray, float, float]
"""The fields of an entry. Naming them takes a twentieth of a round, so it is done for those who are given entries."""

LogSink = Callable[[LogEntry], None]
"""Is given every observation once it is learned, where a policy keeps no log of its own: at least once, in order."""


class Bundle(NamedTuple):
    """Observations on their way to the books together."""

    version: int  # what the model's count was before them
    entries: Sequence[Observation]
    backup: (
        dict[str, NDArray[np.generic]] | None
    )  # the model's arrays before them; None where one call learns them


HANDING = Bundle(0, (), None)
"""Pending where all is in the books and some of it is still to be handed over."""


class Ledger:
    """The books of one model. See the module."""

    def __init__(
        self,
        model: Model,
        standing: FloatArray | None,
        dim: int,
        log: "LogSink | bool | None" = True,
    ) -> None:
        self.lock: threading.RLock | RefusedLock = threading.RLock()
        register(self)
        self.model = model
        self.dim = dim
        self.standing = standing  # features of the numbered arms [K, d]
        self.round = 0  # the number of rounds begun
        self.version = 0  # the number of rewards learned
        self.open: dict[int, Decision] = {}
        self.keeps_log = log is True
        self.sink = checked_sink(log)
        self.undelivered: deque[Observation] = deque()  # learned, and not yet taken by the sink
        self.rounds = array("q")
        self.arms = array("q")
        self.others = array("d")  # features of unnumbered arms, one after the other
        self.rewards = array("d")
        self.propensities = array("d")
        self._pending: Observation | Bundle | None = (
            None  # one alone needs no backup: a call has learned it or has not
        )
        self._checked = finite_arrays(
            model
        )  # a model of the user's own may have infinities from the beginning
        if model.is_bounded() and len(self._checked) < len(model.arrays()):
            raise InvalidArgument(
                "arms",
                standing,
                "features whose squares, and the inverses of these, do not overflow",
            )
        self._ordinary_arms = standing is None or model.is_ordinary(standing)
        self.update_checks()

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
            self.lock = RefusedLock(
                ForkError("a policy that another thread was changing", expected)
            )

    def update_checks(self) -> None:
        """Note if the model, whose arrays may have changed, needs a check after each observation."""
        model = self.model
        self.checks_each = not (
            self._ordinary_arms and model.is_bounded() and has_ordinary_state(model)
        )
        self.is_fast = model.whole and not self.checks_each

    def is_finite(self) -> bool:
        """Return False if an infinity or a NaN is in arrays that had none at first."""
        arrays = self.model.arrays()
        return all(np.isfinite(arrays[name]).all() for name in self._checked)

    def learn(self, observation: Observation) -> None:
        """Take in one observation."""
        model = self.model
        round, arm, x, y, _ = observation
        if not (
            self.is_fast
            and -ORDINARY_REWARD <= y <= ORDINARY_REWARD
            and (arm >= 0 or model.is_ordinary(x))
        ):
            return self.learn_all((observation,))
        self._pending = observation
        try:
            model.learn(round, arm, x, y)
            model.settle()
            self._enter(observation)
            if self.sink is not None:
                self._queue((observation,))
            self.version += 1
            self._pending = HANDING if self.undelivered else None
        except BaseException:
            self._finish()
            raise
        if self.undelivered:
            self.hand_over()

    def learn_all(self, entries: Sequence[Observation], rewards: str = "") -> None:
        """Take in observations in this order: all of them or, on any error, none.

        `rewards`: what an error calls the list of their rewards, where they come from one.
        """
        if not entries:
            return
        self._check_unless_ordinary(entries)
        self._pending = Bundle(self.version, entries, copies(self.model))
        learned = 0
        try:
            for entry in entries:
                round, arm, x, y, _ = entry
                self.model.learn(round, arm, x, y)
                self.model.settle()
                if self.checks_each:
                    self._check_finite(entry)
                learned += 1
            self._check_count(self.version + len(entries))
            self._finish()
            if self.checks_each:
                self.update_checks()
        except BaseException as error:
            self._finish()
            if self.checks_each:
                self.update_checks()
            if rewards and isinstance(error, InvalidArgument) and error.argument == "reward":
                raise type(error)(f"{rewards}[{learned}]", error.value, error.expected) from None
            raise
        if self.undelivered:
            self.hand_over()

    def _check_unless_ordinary(self, entries: Sequence[Observation]) -> None:
        """Check after each observation, until the next `update_checks`, unless all of these are ordinary."""
        for _, arm, x, y, _ in entries:
            if not (
                -ORDINARY_REWARD <= y <= ORDINARY_REWARD and (arm >= 0 or self.model.is_ordinary(x))
            ):
                self.checks_each, self.is_fast = True, False
                return

    def _check_finite(self, entry: Observation) -> None:
        """Raise if learning the observation has made a number of the model infinite or NaN."""
        if not self.is_finite():
            _, _, x, y, _ = entry
            expected = "one with which all that is learned stays finite: squares and products of it and of features"
            raise NonFiniteError(
                "reward", y, f"{expected} from {x.min():g} to {x.max():g} overflow"
            )

    def _check_count(self, expected: int) -> None:
        """Raise unless the model, which may be the user's own, has counted what it learned."""
        count = self.model.count
        if count != expected:
            raise InvalidArgument(
                "count",
                count,
                f"{expected}, one more for each observation, in {type(self.model).__name__}",
            )

    def settle(self) -> None:
        """Bring an update that was cut short to its end, or undo it. Costs nothing where there is none."""
        if self._pending is None:
            return
        self._finish()
        with suppress(
            Exception
        ):  # what the sink refuses now it is given again by the next update, which says so
            self.hand_over()

    def make_way(self) -> None:
        """`settle` before an update or a snapshot, which do not go on while the sink refuses what it is given."""
        self._finish()
        self.hand_over()

    def hand_over(self) -> None:
        """Give the sink what it has not taken, in order. What it raises comes out, and it is given the same again next time."""
        if self.sink is None or self._is_handing():
            return
        try:
            while self.undelivered:
                self.sink(LogEntry(*self.undelivered[0]))
                self.undelivered.popleft()  # after the call: Ctrl-C between the two gives an observation twice, not never
            self._pending = None
        except Exception:
            self._finish()
            self._pending = None
            raise

    def _is_handing(self) -> bool:
        """Whether a sink that is being called looks at its own ledger. Asked of the stack, as Ctrl-C leaves flags behind."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code is Ledger.hand_over.__code__ and frame.f_locals["self"] is self:
                return True
            frame = frame.f_back
        return False

    def _queue(self, entries: Sequence[Observation]) -> None:
        """Let entries wait for the sink. Doing it twice changes nothing."""
        if not self.undelivered or self.undelivered[-1] is not entries[-1]:
            self.undelivered.extend(entries)

    def _finish(self) -> None:
        """Bring the books in step with the model."""
        pending = self._pending
        if pending is None:
            return
        batch = pending if isinstance(pending, Bundle) else Bundle(self.version, (pending,), None)
        version, entries, backup = batch
        if not entries:
            return
        learned = self.model.count == version + len(entries)
        if learned:
            self.model.settle()
            learned = backup is None or not self.checks_each or self.is_finite()
        if learned:
            self._cut(version)
            for entry in entries:
                self._enter(entry)
            if self.sink is not None:
                self._queue(entries)
            self.version = version + len(entries)
        elif backup is not None:
            for name, values in self.model.arrays().items():
                values[...] = backup[name]
        self._pending = HANDING if self.undelivered else None

    def _enter(self, observation: Observation) -> None:
        """Write an observation into the books."""
        round, arm, x, y, propensity = observation
        if self.keeps_log:
            if arm == UNNUMBERED:
                self.others.frombytes(
                    np.asarray(x, np.float64).tobytes()
                )  # extend would make an object of each number
            self.arms.append(arm)
            self.rewards.append(y)
            self.propensities.append(propensity)
            self.rounds.append(round)
        self.open.pop(round, None)
        if round >= self.round:
            self.round = round + 1

    def _cut(self, version: int) -> None:
        """Cut the log back to a number of observations, also where the last were noted by half."""
        for column in (self.rounds, self.arms, self.rewards, self.propensities):
            del column[version:]
        del self.others[self.dim * self.arms.count(UNNUMBERED) :]

    def log_to(self, log: "LogSink | bool | None") -> None:
        """From now on: what `start` calls `log`. Without one what was kept so far is dropped."""
        self.sink = checked_sink(log)
        if log is not True and self.keeps_log:
            self.keeps_log = False
            for column in self.columns().values():
                del column[:]

    def log(self) -> Log:
        """All observations so far, in the order of the fold."""
        arms = np.array(self.arms, dtype=np.int64)
        features = np.empty((arms.size, self.dim))
        if self.standing is not None:
            features[:] = self.standing[arms]  # rows of UNNUMBERED are overwritten next
        features[arms == UNNUMBERED] = self.other_features()
        rounds, rewards = (
            np.array(self.rounds, dtype=np.int64),
            np.array(self.rewards, dtype=np.float64),
        )
        return Log(rounds, features, rewards, arms, np.array(self.propensities, dtype=np.float64))

    def history(self) -> tuple[FloatArray, FloatArray]:
        """Features [n, d] and rewards [n] of the log."""
        log = self.log()
        return log.features, log.reward

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


def finite_arrays(model: Model) -> list[str]:
    """Return the names of the arrays without infinity and NaN."""
    return [name for name, values in model.arrays().items() if np.isfinite(values).all()]


def has_ordinary_state(model: Model) -> bool:
    """Return True if all numbers are so small that ordinary observations come to no overflow."""
    most = model.ordinary_state
    return all(
        are_within(values.astype(np.float64, copy=False), most)
        for values in model.arrays().values()
        if values.size
    )


def checked_sink(log: object) -> LogSink | None:
    if log is None or log is True:
        return None
    if not callable(log):
        raise WrongType(
            "log", log, "True (keep it), None (keep none) or a function of each observation"
        )
    return log
