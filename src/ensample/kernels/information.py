"""Information-directed sampling from the members of an ensemble, on finitely many arms.

Everything follows from scores[k, j] = x_k'theta^j: members are draws from a posterior, a member's greedy arm is the arm that is
best if that member is right, and an arm informs as far as its value depends on which arm is best.
"""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.rows import argmax
from ensample.types import FloatArray

__all__ = ["best_pair", "gaps_and_gains", "member_scores"]


@kernel
def member_scores(thetas: FloatArray, by_coordinate: FloatArray) -> FloatArray:
    """x_k'theta^j, from thetas [d, m] and arms [d, K], coordinate after coordinate: [K, m]."""
    d, arms = by_coordinate.shape
    scores = np.zeros((arms, thetas.shape[1]))
    for k in range(arms):
        row = scores[k]
        for i in range(d):
            weight = by_coordinate[i, k]
            for j in range(row.size):
                row[j] += weight * thetas[i, j]
    return scores


@kernel
def gaps_and_gains(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Delta_k, v_k and x_k'mu from scores [K, m]; where the members agree on the best arm, every v_k is 0 exactly: [K] each."""
    arms, m = scores.shape
    votes = np.zeros(m, np.int64)
    promises = scores[0].copy()
    for k in range(1, arms):
        for j in range(m):
            if scores[k, j] > promises[j]:
                promises[j] = scores[k, j]
                votes[j] = k
    counts = np.zeros(arms)
    promised = 0.0
    for j in range(m):
        counts[votes[j]] += 1.0
        promised += promises[j]
    gaps, gains, means = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    sums = np.zeros(arms)
    for k in range(arms):
        sums[:] = 0.0  # of x_k'theta^j over the members that vote for each arm
        for j in range(m):
            sums[votes[j]] += scores[k, j]
        total = 0.0
        for best in range(arms):
            total += sums[best]
        means[k] = total / m
        gaps[k] = max(0.0, promised / m - means[k])
        for best in range(arms):
            if counts[best] > 0.0:
                surprise = sums[best] / counts[best] - means[k]
                gains[k] += counts[best] / m * surprise * surprise
    return gaps, gains, means


@kernel
def best_pair(gaps: FloatArray, gains: FloatArray, means: FloatArray) -> tuple[int, int, float]:
    """(first, second, probability of first) that minimises (expected gap)^2 / expected gain; greedy where no arm informs.

    The objective is convex and some minimiser has at most two arms (Russo & Van Roy 2018). For a pair with
    gaps g1, g2 and gains v1, v2 the ratio (g2 + q D)^2 / (v2 + q G), D = g1 - g2, G = v1 - v2, is least at
    q = g2/D - 2 v2/G or at an end. The lowest indices win ties.
    """
    arms = gaps.size
    first, share, least = 0, 1.0, np.inf
    for k in range(arms):
        if gains[k] > 0.0 and gaps[k] * gaps[k] / gains[k] < least:
            first, least = k, gaps[k] * gaps[k] / gains[k]
    if least == np.inf:
        first = argmax(means)
    second = first
    for one in range(arms):
        for other in range(one + 1, arms):
            # The arm with the smaller gap plays the same part whatever its index, so that equal arms give equal ratios.
            near, far = (one, other) if gaps[one] <= gaps[other] else (other, one)
            D, G = gaps[near] - gaps[far], gains[near] - gains[far]
            if D == 0.0 or G == 0.0:
                continue
            q = gaps[far] / D - 2.0 * gains[far] / G
            if 0.0 < q < 1.0:
                gap = gaps[far] + q * D
                gain = gains[far] + q * G
                if gain > 0.0 and gap * gap / gain < least:
                    first, second, share, least = near, far, q, gap * gap / gain
    return first, second, share
