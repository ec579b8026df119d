"""Weighted least squares, a weight for each replicate: the multiplier bootstrap."""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import invert, observe
from ensample.kernels.rows import add_outer, axpy, sum_rows
from ensample.types import FloatArray, IntArray

__all__ = ["learn_weighted", "weigh", "weighted_estimate"]


@kernel
def weigh(grams: FloatArray, targets: FloatArray, j: int, weights: FloatArray, pseudo: float, x: FloatArray, y: float) -> None:
    """Replicate j takes in (x, y) with weight w, and pseudo-rewards 0 and 1 with `pseudo` times weights of their own: [3]."""
    real = max(weights[0], 0.0)
    low, high = pseudo * max(weights[1], 0.0), pseudo * max(weights[2], 0.0)
    add_outer(grams[j], real + low + high, x, x)
    axpy(targets[j], real * y + high, x)


@kernel
def learn_weighted(
    state: FloatArray,
    grams: FloatArray,  # [B, d, d]
    targets: FloatArray,  # [B, d]
    pulls: IntArray,
    weights: FloatArray,  # [B, 3]
    pseudo: float,
    arm: int,
    x: FloatArray,
    y: float,
) -> None:
    """All replicates of a live policy take in an observation."""
    for j in range(targets.shape[0]):
        weigh(grams, targets, j, weights[j], pseudo, x, y)
    pulls[arm] += 1
    observe(state, x, y)


@kernel
def weighted_estimate(gram: FloatArray, target: FloatArray) -> FloatArray:
    """G^-1 b: [d]; 0 where G is singular to working precision."""
    theta = np.zeros(target.size)
    inverse = invert(gram)
    if inverse.size > 0:
        sum_rows(theta, inverse, target)
    return theta
