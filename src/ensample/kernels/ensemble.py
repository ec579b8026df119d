"""All members at once. `sums` [2d, m] holds S^j = W^j + sum_i X_i Z_i^j, one column a member, so that rows are contiguous:
older terms in its first d rows, newer ones in the others (`learning.carry_over`). Where the prior is learned W^j changes with
it: it is sqrt(prior) times what d more rows hold.

theta^j = theta_hat + factor V^-1 S^j, the factor being 1 but for inflated and calibrated recipes. Whether one member is
computed or all of them, terms are added in the same order: `choose`, `estimates` and `votes` agree to the last bit.
"""

import numpy as np

from ensample.kernels.compile import borrowing, kernel
from ensample.kernels.ridge import PRIOR, entry_of, lent, view
from ensample.kernels.rows import argmax, sum_rows
from ensample.types import FloatArray, IntArray

__all__ = ["choose", "estimate", "estimates", "greedy", "total_of", "votes"]

BLOCK = 256  # members handled together: their scores stay in the first cache


@kernel
def estimate(state: FloatArray, total: FloatArray) -> FloatArray:
    """theta = theta_hat + V^-1 total: [d]."""
    theta = np.empty(total.size)
    estimate_into(state, total, theta)
    return theta


@borrowing
def estimate_into(state: FloatArray, total: FloatArray, theta: FloatArray) -> None:
    """`estimate` into an array at hand."""
    ridge = lent(state)
    sum_rows(theta, ridge.inverse, total)
    for i in range(theta.size):
        theta[i] += ridge.mean[i]


@kernel
def greedy(theta: FloatArray, by_coordinate: FloatArray) -> int:
    """argmax_k x_k'theta, the lowest index on ties; `by_coordinate` is [d, K]."""
    scores = np.empty(by_coordinate.shape[1])
    sum_rows(scores, by_coordinate, theta)
    return argmax(scores)


@kernel
def choose(state: FloatArray, sums: FloatArray, factor: float, member: int, by_coordinate: FloatArray) -> int:
    """The greedy arm of one member."""
    d, arms = by_coordinate.shape
    room = np.empty(2 * d + arms)
    return choose_in(state, sums, factor, member, by_coordinate, room[:d], room[d : 2 * d], room[2 * d :])


@borrowing
def choose_in(
    state: FloatArray,
    sums: FloatArray,
    factor: float,
    member: int,
    by_coordinate: FloatArray,
    total: FloatArray,
    theta: FloatArray,
    scores: FloatArray,
) -> int:
    """`choose`, with arrays at hand."""
    total_into(state, sums, factor, member, total)
    estimate_into(state, total, theta)
    sum_rows(scores, by_coordinate, theta)
    return argmax(scores)


@kernel
def total_of(state: FloatArray, sums: FloatArray, factor: float, member: int) -> FloatArray:
    """factor (W^j + sum_i X_i Z_i^j) of one member: [d]."""
    total = np.empty(state.shape[1])
    total_into(state, sums, factor, member, total)
    return total


@borrowing
def total_into(state: FloatArray, sums: FloatArray, factor: float, member: int, total: FloatArray) -> None:
    """`total_of` into an array at hand."""
    d = total.size
    for i in range(d):
        total[i] = sums[i, member] + sums[d + i, member]
    if sums.shape[0] > 2 * d:
        for i in range(d):
            total[i] += np.sqrt(entry_of(state, PRIOR, i)) * sums[2 * d + i, member]
    for i in range(d):
        total[i] *= factor


@kernel
def estimates(state: FloatArray, sums: FloatArray, factor: float) -> FloatArray:
    """theta_hat + factor V^-1 S^j of every member: [d, m]."""
    ridge = view(state)
    d, m = ridge.mean.size, sums.shape[1]
    totals, thetas = np.empty((d, m)), np.zeros((d, m))
    for i in range(d):
        for j in range(m):
            total = sums[i, j] + sums[d + i, j]
            if sums.shape[0] > 2 * d:
                total += np.sqrt(ridge.prior[i]) * sums[2 * d + i, j]
            totals[i, j] = total * factor
    for i in range(d):
        for row in range(d):
            for j in range(m):
                thetas[i, j] += ridge.inverse[row, i] * totals[row, j]
        for j in range(m):
            thetas[i, j] += ridge.mean[i]
    return thetas


@kernel
def votes(thetas: FloatArray, by_coordinate: FloatArray) -> tuple[IntArray, FloatArray]:
    """The greedy arm of every member and what it promises: ([m], [m]). One product of [m, d] with [d, K], in blocks."""
    d, m = thetas.shape
    arms = by_coordinate.shape[1]
    chosen = np.zeros(m, np.int64)
    promises = np.full(m, -np.inf)
    scores = np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        for k in range(arms):
            scores[:] = 0.0
            for i in range(d):
                weight = by_coordinate[i, k]
                for j in range(width):
                    scores[j] += weight * thetas[i, start + j]
            for j in range(width):
                if scores[j] > promises[start + j]:
                    promises[start + j] = scores[j]
                    chosen[start + j] = k
    return chosen, promises
