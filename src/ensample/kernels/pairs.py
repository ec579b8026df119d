"""Positive definite systems at twice the digits of a double, every number a pair (high, low).

A is first divided by powers of two on both sides, so that its diagonal is about 1 and units of features do not matter, and
then factored as U'DU with U unit upper triangular. Its pivots D are Schur complements of a matrix that is at least lam I: none
can be less than lam (scaled alike), and one that rounding made less is set to that. So there is an inverse whatever A is.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.exact import two_product, two_sum
from ensample.types import FloatArray

__all__ = ["Factor", "factorised", "inverted", "solved"]


class Factor(NamedTuple):
    """M and D with A^-1 = S M D^-1 M' S, where S is diagonal and M unit upper triangular."""

    scales: FloatArray  # S [d], powers of two
    high: FloatArray  # M' [d, d]
    low: FloatArray
    pivots: FloatArray  # D [2, d], high and low


@embedded
def add_pair_product(
    high: float, low: float, left: float, left_low: float, right: float, right_low: float
) -> tuple[float, float]:
    """(high, low) + left * right for pairs."""
    product, error = two_product(left, right)
    total, total_error = two_sum(high, product)
    total_error += low + (error + (left * right_low + left_low * right))
    high = total + total_error
    return high, total_error - (high - total)


@embedded
def quotient(top: float, top_low: float, bottom: float, bottom_low: float) -> tuple[float, float]:
    """top / bottom for pairs."""
    first = top / bottom
    rest, rest_low = add_pair_product(top, top_low, -first, 0.0, bottom, bottom_low)
    second = (rest + rest_low) / bottom
    high = first + second
    return high, second - (high - first)


@kernel
def add_row(high: FloatArray, low: FloatArray, weight: float, weight_low: float, row: FloatArray, row_low: FloatArray) -> None:
    """(high, low) += weight * row for pairs, element by element."""
    for k in range(high.size):
        high[k], low[k] = add_pair_product(high[k], low[k], weight, weight_low, row[k], row_low[k])


@kernel
def factorised(matrix: FloatArray, matrix_low: FloatArray, least: float) -> Factor:
    """The factor of a symmetric matrix whose eigenvalues are at least `least`."""
    d = matrix.shape[0]
    scales = np.empty(d)
    for i in range(d):
        scales[i] = math.ldexp(1.0, -(math.frexp(matrix[i, i])[1] // 2))
    left, left_low = np.empty((d, d)), np.empty((d, d))  # what is left of A: its upper triangle
    for i in range(d):
        for k in range(d):
            left[i, k] = scales[i] * matrix[i, k] * scales[k]
            left_low[i, k] = scales[i] * matrix_low[i, k] * scales[k]
    pivots = np.empty((2, d))
    high, low = np.zeros((d, d)), np.zeros((d, d))  # U, row i from column i on
    for i in range(d):
        pivots[0, i], pivots[1, i] = left[i, i], left_low[i, i]
        floor = scales[i] * least * scales[i]
        if not pivots[0, i] > floor:
            pivots[0, i], pivots[1, i] = floor, 0.0
        for k in range(i + 1, d):
            high[i, k], low[i, k] = quotient(left[i, k], left_low[i, k], pivots[0, i], pivots[1, i])
        for k in range(i + 1, d):
            add_row(left[k, k:], left_low[k, k:], -high[i, k], -low[i, k], left[i, k:], left_low[i, k:])
    for i in range(d - 1, -1, -1):  # M = U^-1, row by row in place of `left`
        left[i], left_low[i] = 0.0, 0.0
        left[i, i] = 1.0
        for k in range(i + 1, d):
            add_row(left[i, k:], left_low[i, k:], -high[i, k], -low[i, k], left[k, k:], left_low[k, k:])
    for i in range(d):
        for k in range(d):
            high[i, k], low[i, k] = left[k, i], left_low[k, i]
    return Factor(scales, high, low, pivots)


@kernel
def inverted(factor: Factor, inverse: FloatArray) -> None:
    """A^-1, rounded once, into `inverse` [d, d]."""
    scales, high, low, pivots = factor
    d = scales.size
    total, total_low = np.empty(d), np.empty(d)
    for i in range(d):
        total[:] = 0.0
        total_low[:] = 0.0
        for k in range(i, d):
            weight, weight_low = quotient(high[k, i], low[k, i], pivots[0, k], pivots[1, k])
            add_row(total[: i + 1], total_low[: i + 1], weight, weight_low, high[k, : i + 1], low[k, : i + 1])
        for k in range(i + 1):
            inverse[i, k] = scales[i] * total[k] * scales[k]
            inverse[k, i] = inverse[i, k]


@kernel
def solved(factor: Factor, right: FloatArray, right_low: FloatArray, out: FloatArray) -> None:
    """A^-1 right, rounded once, into `out` [d]."""
    scales, high, low, pivots = factor
    d = scales.size
    total, total_low = np.zeros(d), np.zeros(d)
    for k in range(d):
        sum_high, sum_low = 0.0, 0.0
        for i in range(k + 1):
            weight, weight_low = scales[i] * right[i], scales[i] * right_low[i]
            sum_high, sum_low = add_pair_product(sum_high, sum_low, high[k, i], low[k, i], weight, weight_low)
        weight, weight_low = quotient(sum_high, sum_low, pivots[0, k], pivots[1, k])
        add_row(total[: k + 1], total_low[: k + 1], weight, weight_low, high[k, : k + 1], low[k, : k + 1])
    for i in range(d):
        out[i] = scales[i] * total[i]
