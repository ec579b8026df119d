"""Lift over a reference and mean rewards of actions, with bounds that hold at all times at once.

The reference rho is the action of the holdout, or choosing at random where nothing is held out.
With p the logged propensities, pi what is drawn from outside the holdout, d = (pi(A) - rho(A)) /
p(A) and any c that was known before,

    phi = d (r - c)

has mean V(pi) - V(rho) given the past, because the mean of d is 0. With rewards in [0, 1] phi is
at least -max(c max d, (1 - c) max -d), so that `evaluation.sequences.LowerBound` bounds the mean
of V(pi) - V(rho) over the decisions so far. c is the mean of the rewards before.

The rewards r_1, r_2, ... of the decisions that chose an action have means mu_t given the past and
their contexts, and lie in [0, 1]. `LowerBound` bounds the mean of mu_1 .. mu_t from below, and by
1 - r from above. Contexts are those in which the action was chosen, so that two actions may
differ because their contexts do.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ensample.evaluation.sequences import LowerBound
from ensample.service.dashboard.timeline import Stretch
from ensample.types import FloatArray

ALARM = 0.05
TOGETHER = 64  # rewards that are added at once
CHECKPOINTS = 80
LEAST = 1e-9  # of a propensity, as in evaluation


class Gain(NamedTuple):
    """d of a decision, and how far it could have gone to either side."""

    d: float
    up: float  # max d
    down: float  # max -d


class Checkpoint(NamedTuple):
    """Estimate after some decisions, for rewards in [0, 1]."""

    rows: int
    value: float
    low: float
    high: float


class Provisional(NamedTuple):
    """The lift with decisions that are within their wait, by the rewards that they have so far."""

    rows: int
    value: float


def against_action(
    propensities: list[float], chosen: int, baseline: int, share: float
) -> Gain | None:
    """d where `baseline` is held out with probability `share`.

    >>> against_action([0.9, 0.1], 1, baseline=1, share=0.1)
    Gain(d=-10.0, up=1.1111111111111112, down=10.0)
    """
    p = propensities[baseline]
    if not share < 1.0 or p < LEAST:
        return None
    own = max(p - share, 0.0) / (1.0 - share)
    down, up = (1.0 - own) / p, 1.0 / (1.0 - share) if len(propensities) > 1 else 0.0
    return Gain(-down if chosen == baseline else up, up, down)


def against_chance(propensities: list[float], chosen: int) -> Gain | None:
    """d where the reference is each action with probability 1/K.

    >>> against_chance([0.75, 0.25], 1)
    Gain(d=-1.0, up=0.33333333333333337, down=1.0)
    """
    count, rarest = len(propensities), min(propensities)
    if rarest < LEAST:
        return None
    return Gain(
        1.0 - 1.0 / (count * propensities[chosen]),
        max(1.0 - 1.0 / (count * max(propensities)), 0.0),
        max(1.0 / (count * rarest) - 1.0, 0.0),
    )


class ActionMean(NamedTuple):
    """A mean of rewards in [0, 1] and its 95% confidence sequence."""

    rows: int
    value: float
    low: float
    high: float


class RewardMean:
    """The mean of the rewards of one action, in [0, 1].

    >>> mean = RewardMean()
    >>> for reward in [0.0, 1.0] * 500:
    ...     mean.add(reward)
    >>> found = mean.now()
    >>> found.rows, found.value, found.low < 0.46 < 0.54 < found.high
    (1000, 0.5, True)
    """

    def __init__(self) -> None:
        self.lower, self.upper = LowerBound(), LowerBound()
        self._waiting: list[float] = []

    def add(self, reward: float) -> None:
        self._waiting.append(reward)
        if len(self._waiting) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            rewards, self._waiting = np.array(self._waiting), []
            self.lower.add(rewards, 0.0)
            self.upper.add(1.0 - rewards, 0.0)

    def now(self) -> ActionMean:
        self.flush()
        value = self.lower.mean
        low, high = max(self.lower.at(ALARM / 2), 0.0), 1.0 - max(self.upper.at(ALARM / 2), 0.0)
        return ActionMean(self.lower.count, value, min(low, value), max(high, value))


class Lift:
    """The lift.

    Decisions are added in the order in which they were taken, each once its reward is known.
    """

    def __init__(self) -> None:
        self.lower, self.upper = LowerBound(), LowerBound()
        self.path: list[Checkpoint] = []
        self._waiting: list[tuple[float, float, float, float]] = []
        self._every = 1
        self._rows, self._total = 0, 0.0

    def add(self, gain: Gain, reward: float) -> None:
        """Add a decision with its reward in [0, 1]."""
        self._waiting.append((*gain, reward))
        if len(self._waiting) >= max(self._every, 64):
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        d, up, down, r = np.array(self._waiting).T
        self._waiting = []
        c = self._centres(r)
        phi = d * (r - c)
        self.lower.add(phi, -np.maximum(up * c, down * (1.0 - c)))
        self.upper.add(-phi, -np.maximum(up * (1.0 - c), down * c))
        if self.lower.count - (self.path[-1].rows if self.path else 0) >= self._every:
            self._look()

    def _centres(self, rewards: FloatArray) -> FloatArray:
        """Return the mean of the rewards before each, one half before the first."""
        sums = self._total + np.concatenate(([0.0], np.cumsum(rewards)))
        centres: FloatArray = (sums[:-1] + 0.5) / (self._rows + np.arange(rewards.size) + 1.0)
        self._rows, self._total = self._rows + rewards.size, float(sums[-1])
        return centres

    def _look(self) -> None:
        """Store a look. Their distances grow, so that there are never many."""
        self.path.append(self.now())
        if len(self.path) > CHECKPOINTS:
            self.path = self.path[1::2]
            self._every = max(2 * self._every, self.path[-1].rows // CHECKPOINTS)

    def with_open(self, stretches: Iterable[Stretch]) -> list[Provisional]:
        """Return how the lift would go on with the open decisions of some stretches.

        The sum of d (r - c) is taken with the mean reward as c.
        """
        found, count, r, d, dr = [], 0, 0.0, 0.0, 0.0
        for stretch in stretches:
            if not stretch.open_gains:
                continue
            count, r = count + stretch.open_gains, r + stretch.open_r
            d, dr = d + stretch.open_d, dr + stretch.open_dr
            rows = self.lower.count + count
            value = (self.lower.total + dr - (self._total + r) / rows * d) / rows
            found.append(Provisional(rows, min(max(value, -1.0), 1.0)))
        return found

    def now(self) -> Checkpoint:
        """Return the lift after a flush.

        Over few decisions the mean may lie where no lift can be: it is clipped.
        """
        value = min(max(self.lower.mean, -1.0), 1.0)
        low, high = max(self.lower.at(ALARM / 2), -1.0), min(-self.upper.at(ALARM / 2), 1.0)
        return Checkpoint(self.lower.count, value, min(low, value), max(high, value))
