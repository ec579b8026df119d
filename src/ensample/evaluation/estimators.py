"""Estimates of what another policy would have earned, row by row.

pi(a|x) are its probabilities, p(a|x) those that were logged, and w = pi/p.

    IPS     w r                             Horvitz and Thompson 1952; unbiased where p > 0
                                            wherever pi > 0
    SNIPS   sum w r / sum w                 Swaminathan and Joachims 2015; a little bias for
                                            much less variance
    DM      sum_a pi(a) q(a)                as good as the model q of the rewards
    DR      w (r - q(A)) + sum_a pi(a) q(a) Dudik, Langford and Li 2011; unbiased as IPS is,
                                            with the variance of what q misses

Rewards are in [0, 1] here.

For the lower bounds of `sequences`, which need terms that are not far below 0, q is held below k/w:
with q' = min(q, k/w), w (r - q'(A)) + sum_a pi(a) q'(a) >= -k, and it is as unbiased. An upper
bound is 1 less a lower bound on what 1 - r would have earned. Where p = 0 and pi > 0 both err on
the careful side: the reward that nobody saw counts as 0 for the lower bound and as 1 for the upper
one.
"""

import numpy as np

from ensample.types import FloatArray, IntArray


def weights_of(target: FloatArray, chosen: IntArray, propensity: FloatArray) -> FloatArray:
    """w of the actions that were chosen: [n] from [n, K], [n], [n]."""
    ratio: FloatArray = target[np.arange(len(chosen)), chosen] / propensity
    return ratio


def direct(target: FloatArray, predicted: FloatArray) -> FloatArray:
    """sum_a pi(a) q(a): [n]."""
    total: FloatArray = (target * predicted).sum(axis=1)
    return total


def doubly_robust(
    target: FloatArray,
    predicted: FloatArray,
    chosen: IntArray,
    weights: FloatArray,
    rewards: FloatArray,
) -> FloatArray:
    """w (r - q(A)) + sum_a pi(a) q(a): [n]."""
    mine = predicted[np.arange(len(chosen)), chosen]
    return weights * (rewards - mine) + direct(target, predicted)


def held_below(
    predicted: FloatArray, target: FloatArray, propensities: FloatArray, most: float
) -> FloatArray:
    """q' = min(q, most p/pi): [n, K]; pi = 0 asks for nothing."""
    room = np.full(np.broadcast_shapes(target.shape, propensities.shape), np.inf)
    np.divide(most * propensities, target, out=room, where=target > 0.0)
    held: FloatArray = np.minimum(predicted, room)
    return held
