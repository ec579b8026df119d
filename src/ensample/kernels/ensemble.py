"""All members at once. `sums` holds W^j + sum_i X_i Z_i^j, one column a member, so that rows are contiguous.

theta^j = theta_hat + V^-1 sums[:, j]. Whether one member is computed or all of them, terms are added in the same order:
`choose`, `estimates` and `votes` agree to the last bit.
"""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import MEAN, observe, parts, rotate, times
from ensample.kernels.rows import argmax, sum_rows
from ensample.types import FloatArray, IntArray

__all__ = ["choose", "estimate", "estimates", "greedy", "learn", "learn_rooted", "votes"]

BLOCK = 256  # members handled together: their scores stay in the first cache


@kernel
def learn(state: FloatArray, sums: FloatArray, x: FloatArray, y: float, z: FloatArray) -> bool:
    """One round of Algorithm 1: perturb member j by x z_j and observe (x, y); returns whether `polish` is due."""
    d, m = sums.shape
    for i in range(d):
        for j in range(m):
            sums[i, j] += x[i] * z[j]
    return observe(state, x, y)


@kernel
def learn_rooted(state: FloatArray, sums: FloatArray, root: FloatArray, x: FloatArray, y: float, z: FloatArray) -> bool:
    """`learn`, keeping also an upper triangular R with R'R = sum x x'."""
    rotate(root, x)
    return learn(state, sums, x, y, z)


@kernel
def estimate(state: FloatArray, total: FloatArray) -> FloatArray:
    """theta = theta_hat + V^-1 total: [d]."""
    _, _, inverse, vectors = parts(state)
    mean = vectors[MEAN]
    theta = times(inverse, total)
    for i in range(theta.size):
        theta[i] += mean[i]
    return theta


@kernel
def greedy(theta: FloatArray, by_coordinate: FloatArray) -> int:
    """argmax_k x_k'theta, the lowest index on ties; `by_coordinate` is [d, K]."""
    scores = np.empty(by_coordinate.shape[1])
    sum_rows(scores, by_coordinate, theta)
    return argmax(scores)


@kernel
def choose(state: FloatArray, sums: FloatArray, member: int, by_coordinate: FloatArray) -> int:
    """The greedy arm of one member."""
    return greedy(estimate(state, sums[:, member].copy()), by_coordinate)


@kernel
def estimates(state: FloatArray, sums: FloatArray) -> FloatArray:
    """theta^j of every member: [d, m]."""
    _, _, inverse, vectors = parts(state)
    mean = vectors[MEAN]
    d, m = sums.shape
    thetas = np.zeros((d, m))
    for i in range(d):
        for row in range(d):
            for j in range(m):
                thetas[i, j] += inverse[row, i] * sums[row, j]
        for j in range(m):
            thetas[i, j] += mean[i]
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
