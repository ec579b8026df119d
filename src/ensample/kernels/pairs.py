"""Positive definite systems at twice the digits of a double, every number a pair (high, low).

A is first divided by powers of two on both sides, so that its diagonal is about 1 and units of features do not matter, and
then factored as U'DU with U unit upper triangular. Its pivots D are Schur complements of a matrix that is at least its prior,
which is diagonal: none can be less than that (scaled alike), and one that rounding made less is set to it. So there is an
inverse whatever A is.
"""

import math
from typing import NamedTuple

from ensample.kernels.compile import borrowing, embedded
from ensample.kernels.exact import two_product, two_sum
from ensample.types import FloatArray

__all__ = ["Factor", "factorise", "lent_factor", "room_for", "solve", "write_inverse"]

MATRICES, VECTORS = 4, 5


class Factor(NamedTuple):
    """M and D with A^-1 = S M D^-1 M' S, where S is diagonal and M unit upper triangular, and scratch."""

    high: FloatArray  # M' [d, d]
    low: FloatArray
    left: FloatArray  # scratch [d, d]
    left_low: FloatArray
    pivots: FloatArray  # D [d]
    pivots_low: FloatArray
    scales: FloatArray  # S [d], powers of two
    total: FloatArray  # scratch [1, d]
    total_low: FloatArray


@embedded
def room_for(d: int) -> int:
    """Rows of d numbers that a factor takes."""
    return MATRICES * d + VECTORS


@embedded
def lent_factor(room: FloatArray) -> Factor:
    """A factor in a room, to those that kernels lend it to: the references are not counted."""
    d = room.shape[1]
    rest = MATRICES * d
    return Factor(
        room[:d],
        room[d : 2 * d],
        room[2 * d : 3 * d],
        room[3 * d : rest],
        room[rest],
        room[rest + 1],
        room[rest + 2],
        room[rest + 3 : rest + 4],
        room[rest + 4 : rest + 5],
    )


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


@borrowing
def add_row(
    high: FloatArray,
    low: FloatArray,
    i: int,
    weight: float,
    weight_low: float,
    rows: FloatArray,
    rows_low: FloatArray,
    row: int,
    first: int,
    last: int,
) -> None:
    """(high, low)[i] += weight * rows[row] for pairs, element by element from `first` to before `last`."""
    for k in range(first, last):
        high[i, k], low[i, k] = add_pair_product(high[i, k], low[i, k], weight, weight_low, rows[row, k], rows_low[row, k])


@borrowing
def factorise(factor: Factor, matrix: FloatArray, matrix_low: FloatArray, least: FloatArray) -> None:
    """The factor of a symmetric matrix that is at least the diagonal matrix `least` [d]."""
    d = matrix.shape[0]
    high, low, left, left_low = factor.high, factor.low, factor.left, factor.left_low
    scales, pivots, pivots_low = factor.scales, factor.pivots, factor.pivots_low
    for i in range(d):
        scales[i] = math.ldexp(1.0, -(math.frexp(matrix[i, i])[1] // 2))
    for i in range(d):  # what is left of A: its upper triangle
        for k in range(d):
            left[i, k] = scales[i] * matrix[i, k] * scales[k]
            left_low[i, k] = scales[i] * matrix_low[i, k] * scales[k]
    for i in range(d):  # U, row i from column i on
        pivots[i], pivots_low[i] = left[i, i], left_low[i, i]
        floor = scales[i] * least[i] * scales[i]
        if not pivots[i] > floor:
            pivots[i], pivots_low[i] = floor, 0.0
            for k in range(i + 1, d):  # beyond |a_ik|^2 <= a_ii a_kk it is rounding, which would grow from step to step
                if left[i, k] * left[i, k] > floor * left[k, k]:
                    left[i, k], left_low[i, k] = 0.0, 0.0
        for k in range(i + 1, d):
            high[i, k], low[i, k] = quotient(left[i, k], left_low[i, k], pivots[i], pivots_low[i])
        for k in range(i + 1, d):
            add_row(left, left_low, k, -high[i, k], -low[i, k], left, left_low, i, k, d)
    for i in range(d - 1, -1, -1):  # M = U^-1, row by row in place of `left`
        for k in range(d):
            left[i, k], left_low[i, k] = 0.0, 0.0
        left[i, i] = 1.0
        for k in range(i + 1, d):
            add_row(left, left_low, i, -high[i, k], -low[i, k], left, left_low, k, k, d)
    for i in range(d):
        for k in range(d):
            high[i, k], low[i, k] = left[k, i], left_low[k, i]


@borrowing
def clear(factor: Factor) -> None:
    """Begin a sum in the scratch."""
    for k in range(factor.scales.size):
        factor.total[0, k], factor.total_low[0, k] = 0.0, 0.0


@borrowing
def write_inverse(factor: Factor, inverse: FloatArray) -> None:
    """A^-1, rounded once, into `inverse` [d, d]."""
    high, low, scales, total = factor.high, factor.low, factor.scales, factor.total
    d = scales.size
    for i in range(d):
        clear(factor)
        for k in range(i, d):
            weight, weight_low = quotient(high[k, i], low[k, i], factor.pivots[k], factor.pivots_low[k])
            add_row(total, factor.total_low, 0, weight, weight_low, high, low, k, 0, i + 1)
        for k in range(i + 1):
            inverse[i, k] = scales[i] * total[0, k] * scales[k]
            inverse[k, i] = inverse[i, k]


@borrowing
def solve(factor: Factor, right: FloatArray, right_low: FloatArray, out: FloatArray) -> None:
    """A^-1 right, rounded once, into `out` [d]."""
    high, low, scales, total = factor.high, factor.low, factor.scales, factor.total
    d = scales.size
    clear(factor)
    for k in range(d):
        sum_high, sum_low = 0.0, 0.0
        for i in range(k + 1):
            weight, weight_low = scales[i] * right[i], scales[i] * right_low[i]
            sum_high, sum_low = add_pair_product(sum_high, sum_low, high[k, i], low[k, i], weight, weight_low)
        weight, weight_low = quotient(sum_high, sum_low, factor.pivots[k], factor.pivots_low[k])
        add_row(total, factor.total_low, 0, weight, weight_low, high, low, k, 0, k + 1)
    for i in range(d):
        out[i] = scales[i] * total[0, i]
