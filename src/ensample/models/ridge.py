"""State of a live ridge regression, and of the scales learned with it.

Arrays that Python owns and the core changes.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample.types import FloatArray

FREE_PRIOR = 1e-15  # of an intercept, in observations: V can be inverted before the first
# rows of a ridge regression's state beside its three matrices; more where the past fades
VECTORS, FADING_VECTORS = (9, 2)
SCALES = 6  # rows of `Scales`


class Ridge(NamedTuple):
    """Views into one [3d + 9, d] array, or [3d + 11, d] where the past fades."""

    gram: FloatArray  # V [d, d]
    gram_low: FloatArray  # what V is beyond the digits of a double [d, d]
    inverse: FloatArray  # V^-1 [d, d]
    target: FloatArray  # b [d]
    target_low: FloatArray  # [d]
    mean: FloatArray  # theta_hat [d]
    seen: FloatArray  # in its first entry: the number of observations
    information: FloatArray  # in its first entry: log(det V / det prior)
    prior: FloatArray  # the diagonal of V before the first observation [d]
    gain: FloatArray  # scratch: V^-1 x of the last observation, as it was before it [d]
    squares: FloatArray  # in its first entries: sum y^2, high and low, of two rows [2, d]
    lengths: FloatArray  # sum x_i^2 of all that was seen, where the past fades [0 or 1, d]
    rate: FloatArray  # in its first entry: at which rate it does, log 2 / half-life [0 or 1, d]


def ridge_views(state: FloatArray) -> Ridge:
    """Return the parts of a state."""
    d = state.shape[1]
    vectors = state[3 * d :]
    matrices = state[:d], state[d : 2 * d], state[2 * d : 3 * d]
    return Ridge._make([*matrices, *vectors[:7], vectors[7:9], vectors[9:10], vectors[10:]])


def new_ridge(dim: int, prior: float | FloatArray, rate: float = 0.0) -> FloatArray:
    """Return a state before its first observation, V the diagonal matrix `prior`: a number, or [d].

    The past fades if rate > 0.
    """
    state = np.zeros((3 * dim + VECTORS + (FADING_VECTORS if rate > 0.0 else 0), dim))
    ridge = ridge_views(state)
    ridge.rate[:, 0] = rate
    ridge.prior[:] = prior
    np.fill_diagonal(ridge.gram, ridge.prior)
    np.fill_diagonal(ridge.inverse, 1.0 / ridge.prior)
    return state


class Scales(NamedTuple):
    """Scales as far as they are learned.

    Views into one [6, d] array; a number is the first entry of its row.
    """

    sizes: FloatArray  # root mean squares of the features, 0 for one that was never seen [d]
    noise: FloatArray  # sigma^2; 0 before the first reward that is not 0
    spread: FloatArray  # tau^2, of the parameter for features of size 1
    effective: FloatArray  # gamma, the effective number of parameters
    strength: FloatArray  # lam = sigma^2 / tau^2, within bounds
    calibrated_at: FloatArray  # number of observations at the last calibration


def scale_views(scales: FloatArray) -> Scales:
    """Return the parts of an array of scales."""
    return Scales(*scales)


def new_scales(sizes: FloatArray, lam: float) -> FloatArray:
    """Return the scales before the first observation; lam > 0 is kept, else it begins at 1."""
    scales = np.zeros((SCALES, sizes.size))
    scales[0] = sizes
    scale_views(scales).strength[0] = lam or 1.0
    return scales


def first_prior(sizes: FloatArray, lam: float, intercept: bool) -> FloatArray:
    """Return the diagonal of V before the first observation: [d]."""
    prior: FloatArray = (lam or 1.0) * np.where(sizes > 0.0, sizes, 1.0) ** 2
    if intercept:
        prior[-1] = FREE_PRIOR
    return prior


def effective_count(count: float, rate: float) -> float:
    """Return 1 + g + ... + g^(count - 1), g = exp(-rate): the effective number of observations."""
    return math.expm1(-rate * count) / math.expm1(-rate) if rate > 0.0 else count
