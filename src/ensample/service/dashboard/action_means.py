"""Mean reward of each action, with bounds that hold at all times at once.

The rewards r_1, r_2, ... of the decisions that chose an action have means mu_t given the past and their contexts, and lie in
[0, 1]. `LowerBound` bounds the mean of mu_1 .. mu_t from below, and by 1 - r from above. Contexts are those in which the
action was chosen, so that two actions may differ because their contexts do.
"""

from typing import NamedTuple

import numpy as np

from ensample.evaluation.sequences import LowerBound

ALARM = 0.05  # of each action
TOGETHER = 64  # rewards that are taken in at once


class ActionMean(NamedTuple):
    """A mean of rewards in [0, 1] and its 95% confidence sequence."""

    rows: int
    value: float
    low: float
    high: float


class RewardMean:
    """The rewards of one action."""

    def __init__(self) -> None:
        self.lower, self.upper = LowerBound(), LowerBound()
        self.pending: list[float] = []

    def flush(self) -> None:
        if self.pending:
            rewards, self.pending = np.array(self.pending), []
            self.lower.add(rewards, 0.0)
            self.upper.add(1.0 - rewards, 0.0)

    def now(self) -> ActionMean:
        value = self.lower.mean
        low, high = max(self.lower.at(ALARM / 2), 0.0), 1.0 - max(self.upper.at(ALARM / 2), 0.0)
        return ActionMean(self.lower.count, value, min(low, value), max(high, value))


class ActionMeans:
    """The means of all actions, by place.

    >>> means = ActionMeans()
    >>> for reward in [0.0, 1.0] * 500:
    ...     means.add(3, reward)
    >>> means.flush()
    >>> found = means[3]
    >>> found.rows, found.value, found.low < 0.46 < 0.54 < found.high, means[4]
    (1000, 0.5, True, None)
    """

    def __init__(self) -> None:
        self._means: dict[int, RewardMean] = {}

    def add(self, place: int, reward: float) -> None:
        found = self._means.get(place)
        if found is None:
            found = self._means[place] = RewardMean()
        found.pending.append(reward)
        if len(found.pending) >= TOGETHER:
            found.flush()

    def flush(self) -> None:
        for found in self._means.values():
            found.flush()

    def __getitem__(self, place: int) -> ActionMean | None:
        found = self._means.get(place)
        return None if found is None else found.now()
