"""The units in which networks see features and rewards: running scales, a fold of the log.

A feature is divided by the root mean square of its values that are not 0: of the standing arms or, where none stand, of what
was played. A feature that was never played has the unit of the round's offer. Units of what was played are brought up to date
whenever the number of observations has doubled, so that between two such moments networks learn one function.
"""

from typing import NamedTuple

import numpy as np

from ensample.kernels.minibatches import learn_sizes, measured, sigma_of, spread_of
from ensample.types import FloatArray

__all__ = ["FeatureUnits", "RewardUnits", "in_units", "new_feature_units", "typical_sizes"]


class FeatureUnits(NamedTuple):
    """What features are divided by, and what that is learned from."""

    sizes: FloatArray  # [d]; 0 where a feature was never seen
    squares: FloatArray  # [d] sums of squares of what was played
    seen: FloatArray  # [d] how often it was not 0

    def learn(self, x: FloatArray, count: int) -> None:
        """One more observation, number `count`."""
        learn_sizes(*self, x, count)


class RewardUnits(NamedTuple):
    """Mean and spread of the rewards, and by how much the members' mean has missed them, each before it was learned.

    `kernels.minibatches.learn_units` brings them up to date.
    """

    mean: FloatArray  # [1]
    deviations: FloatArray  # [1] sum of squared deviations from the mean
    misses: FloatArray  # [1] mean of squared misses, the recent ones counting more

    def spread(self, count: int) -> float:
        """The standard deviation; where all rewards are equal their size; 1 before the first that is not 0."""
        return spread_of(float(self.mean[0]), float(self.deviations[0]), count)

    def sigma(self, count: int) -> float:
        """The standard deviation of the noise, as far as it is known."""
        return sigma_of(float(self.misses[0]), self.spread(count))


def new_feature_units(rows: FloatArray | None, dim: int) -> FeatureUnits:
    """Of standing arms [K, d], or of nothing."""
    sizes = np.zeros(dim) if rows is None else typical_sizes(rows)
    return FeatureUnits(sizes, np.zeros(dim), np.zeros(dim))


def typical_sizes(rows: FloatArray) -> FloatArray:
    """The root mean square of each column's entries that are not 0, and 0 where all are: [d]."""
    return np.asarray(np.sqrt(np.square(rows).sum(axis=0) / np.maximum((rows != 0.0).sum(axis=0), 1)))


def in_units(rows: FloatArray, sizes: FloatArray) -> FloatArray:
    """Rows as networks see them: [K, d]."""
    seen = np.empty(rows.shape)
    if not measured(rows, sizes, seen):
        here = typical_sizes(rows)
        measured(rows, np.where(sizes > 0.0, sizes, np.where(here > 0.0, here, 1.0)), seen)
    return seen
