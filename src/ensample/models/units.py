"""The units in which networks see features and rewards: running scales, a fold of the log.

A feature is divided by the root mean square of its values that are not 0: of the standing arms or, where none stand, of what
was played. A feature that was never played has the unit of the round's offer. Units of what was played are brought up to date
whenever the number of observations has doubled, so that between two such moments networks learn one function.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample import _core
from ensample.types import FloatArray

RECENT = (
    4.0  # weight of the newest of n squared misses, times n: the older half of them counts 1/16
)


class FeatureUnits(NamedTuple):
    """Units of features, and the sums they are learned from.

    Rows of an array [3, d] that `_core.learn_sizes` updates.
    """

    sizes: FloatArray  # [d]; 0 where a feature was never seen
    squares: FloatArray  # [d] sums of squares of what was played
    seen: FloatArray  # [d] how often it was not 0


class RewardUnits(NamedTuple):
    """Mean and spread of the rewards, and the squared error of the members' mean before it learned them."""

    mean: FloatArray  # [1]
    deviations: FloatArray  # [1] sum of squared deviations from the mean
    misses: FloatArray  # [1] mean of squared misses, the recent ones counting more

    def spread(self, count: int) -> float:
        """Return the standard deviation; where all rewards are equal their size; 1 before the first that is not 0."""
        spread = math.sqrt(float(self.deviations[0]) / max(count, 1))
        return spread or abs(float(self.mean[0])) or 1.0

    def sigma(self, count: int) -> float:
        """Return the standard deviation of the noise, as far as it is known.

        It is at most that of the rewards.
        """
        return min(math.sqrt(float(self.misses[0])), self.spread(count))

    def after(self, y: float, count: int, miss: float) -> "RewardUnits":
        """Return the units after reward number `count`, which the members' mean missed by `miss` (Welford)."""
        share, mean = min(1.0, RECENT / count), self.mean + (y - self.mean) / count
        deviations = self.deviations + (y - self.mean) * (y - mean)
        return RewardUnits(mean, deviations, (1.0 - share) * self.misses + share * miss * miss)


def typical_sizes(rows: FloatArray) -> FloatArray:
    """Return the root mean square of each column's entries that are not 0, and 0 where all are: [d]."""
    return np.asarray(
        np.sqrt(np.square(rows).sum(axis=0) / np.maximum((rows != 0.0).sum(axis=0), 1))
    )


def in_units(rows: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return rows as networks see them: [K, d]."""
    if not sizes.all():
        here = typical_sizes(rows)
        sizes = np.where(sizes > 0.0, sizes, np.where(here > 0.0, here, 1.0))
    seen = np.empty(rows.shape)
    _core.scale_rows(np.ascontiguousarray(rows), sizes, seen)
    return seen
