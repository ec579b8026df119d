"""A past that fades: ridge regression in which an observation counts half as much after every half-life.

With g = 2^(-1/half-life), an observation (x, y) gives

    V <- g V + (1 - g) prior + x x'        b <- g b + x y        sum y^2 <- g sum y^2 + y^2

so that V = prior + sum_i g^(n-i) x_i x_i' after n of them: the prior does not fade. Without its part of V what was not seen
for long would have no weight at all, and V no inverse (the wind-up of plain exponential forgetting).

As (1 - g) prior has full rank, V^-1 follows by no rank-one formula: it is computed anew, O(d^3) an observation; in doubles or,
where that would cost more than nine digits, by `ridge.polish`, which is then due.
"""

import math

import numpy as np

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.exact import add_product
from ensample.kernels.ridge import STIFF, VECTORS, add_observation, invert, lent, observe, roughen, stiffness, triangle, view
from ensample.kernels.rows import sum_rows, write
from ensample.types import FloatArray

__all__ = ["effective_count", "fades", "fading_rate", "kept_share", "take_in"]


@embedded
def fades(state: FloatArray) -> bool:
    """Whether the past does."""
    return state.shape[0] > 3 * state.shape[1] + VECTORS


@embedded
def fading_rate(state: FloatArray) -> float:
    """log 2 / half-life; 0 where nothing fades."""
    return state[state.shape[0] - 1, 0] if fades(state) else 0.0  # the last row, as `Ridge` has it


@embedded
def kept_share(rate: float) -> float:
    """g. What is added of the prior is 1 - g without rounding, so that its part of V stays what it is."""
    return np.exp(-rate)


@embedded
def effective_count(count: float, rate: float) -> float:
    """1 + g + ... + g^(count - 1): what so many observations count for."""
    return math.expm1(-rate * count) / math.expm1(-rate) if rate > 0.0 else count


@kernel
def take_in(state: FloatArray, x: FloatArray, y: float) -> None:
    """Observe (x, y), whether the past fades or not."""
    if not fades(state):
        observe(state, x, y)
        return
    fade(state)
    add_observation(state, x, y)
    lengths = view(state).lengths
    for i in range(x.size):
        lengths[0, i] += x[i] * x[i]
    renew(state)


@borrowing
def fade(state: FloatArray) -> None:
    """V <- g V + (1 - g) prior, b <- g b and the sum of y^2, to twice the digits of a double."""
    ridge = lent(state)
    kept = kept_share(fading_rate(state))
    gram, gram_low, prior = ridge.gram, ridge.gram_low, ridge.prior
    for i in range(prior.size):
        for k in range(prior.size):
            gram[i, k], gram_low[i, k] = add_product(kept * gram_low[i, k], 0.0, gram[i, k], kept)
        gram[i, i], gram_low[i, i] = add_product(gram[i, i], gram_low[i, i], 1.0 - kept, prior[i])
        ridge.target[i], ridge.target_low[i] = add_product(kept * ridge.target_low[i], 0.0, ridge.target[i], kept)
    squares = ridge.squares
    squares[0, 0], squares[1, 0] = add_product(kept * squares[1, 0], 0.0, squares[0, 0], kept)


@kernel
def renew(state: FloatArray) -> None:
    """V^-1, theta_hat and log det V anew from V and b."""
    ridge = view(state)
    factor, inverse = triangle(ridge.gram), invert(ridge.gram)
    if inverse.size == 0:
        roughen(state)
        return
    total = 0.0
    for i in range(ridge.mean.size):
        write(ridge.inverse[i], inverse[i])
        total += 2.0 * np.log(factor[i, i]) - np.log(ridge.prior[i])
    sum_rows(ridge.mean, ridge.inverse, ridge.target)
    ridge.information[0] = max(total, 0.0)  # of which rounding may leave less where everything has faded
    if stiffness(state) > STIFF:
        roughen(state)
