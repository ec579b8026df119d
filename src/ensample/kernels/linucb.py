"""Optimism on finitely many arms: argmax_k x_k'theta_hat + beta |x_k|_{V^-1}.

Equal arms have equal scores to the last bit, so that the lowest index wins.
"""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import view
from ensample.kernels.rows import argmax, sum_rows
from ensample.types import FloatArray

__all__ = ["most_promising", "optimistic_arm", "square_widths"]


@kernel
def optimistic_arm(state: FloatArray, by_coordinate: FloatArray, beta: float) -> int:
    """The arm of a live policy; `by_coordinate` is [d, K]. O(K d^2)."""
    ridge = view(state)
    scores = np.empty(by_coordinate.shape[1])
    widths = np.empty(by_coordinate.shape[1])
    square_widths(ridge.inverse, by_coordinate, widths)
    sum_rows(scores, by_coordinate, ridge.mean)
    return most_promising(scores, widths, beta)


@kernel
def square_widths(inverse: FloatArray, by_coordinate: FloatArray, widths: FloatArray) -> None:
    """w_k = x_k'V^-1 x_k."""
    turned = np.empty(widths.size)
    widths[:] = 0.0
    for i in range(inverse.shape[0]):
        sum_rows(turned, by_coordinate, inverse[i])
        for k in range(widths.size):
            widths[k] += by_coordinate[i, k] * turned[k]


@kernel
def most_promising(scores: FloatArray, widths: FloatArray, beta: float) -> int:
    """argmax_k scores[k] + beta sqrt(w_k); changes `scores`."""
    for k in range(scores.size):
        scores[k] += beta * np.sqrt(max(widths[k], 0.0))
    return argmax(scores)
