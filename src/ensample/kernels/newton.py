"""The exact fit of a generalised linear model: Newton's method on a linearly perturbed loss.

    F(theta) = sum_k [n_k A(x_k'theta) - y_k x_k'theta] + theta'diag(prior) theta / 2 - theta'shift

over rows x_k that were seen n_k times with rewards that sum to y_k. F is convex, and its slope along a step needs A' only: a
step that would climb at its end is halved until F has fallen, and no longer falls fast, where it ends.
"""

import numpy as np

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.links import mean_at, slope_at
from ensample.kernels.ridge import invert
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.types import FloatArray

__all__ = ["HALVINGS", "MOST_STEPS", "TOLERANCE", "curvature", "minimise", "narrowed", "newton_step"]

TOLERANCE = 1e-10  # of the last step, in the norm of the Hessian
MOST_STEPS = 100
CLIMB, FALL = 0.1, -0.5  # slopes at the end of a step that will do, over how steeply it begins
HALVINGS = 50


@kernel
def minimise(
    link: int,
    rows: FloatArray,
    counts: FloatArray,
    totals: FloatArray,
    prior: FloatArray,
    shift: FloatArray,
    theta: FloatArray,
    tolerance: float,
) -> bool:
    """argmin F, from `theta` on and into it; returns whether the last step was short enough."""
    n = len(rows)
    predictors, means, slopes, changes = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    delta = np.empty(theta.size)
    for _ in range(MOST_STEPS):
        for k in range(n):
            predictors[k] = dot(rows[k], theta)
            means[k], slopes[k] = mean_at(link, predictors[k]), slope_at(link, predictors[k])
        length = newton_step(rows, counts, totals, prior, shift, theta, means, slopes, delta)
        if not length < np.inf:
            return False
        axpy(theta, part(link, rows, counts, totals, prior, shift, theta, predictors, delta, changes, length), delta)
        if length <= tolerance:
            return True
    return False


@kernel
def newton_step(
    rows: FloatArray,
    counts: FloatArray,
    totals: FloatArray,
    prior: FloatArray,
    shift: FloatArray,
    theta: FloatArray,
    means: FloatArray,
    slopes: FloatArray,
    delta: FloatArray,
) -> float:
    """delta = -H^-1 gradient at theta; returns its length in the norm of H, infinite where H has no inverse."""
    downhill = np.empty(theta.size)
    for i in range(theta.size):
        downhill[i] = shift[i] - prior[i] * theta[i]
    for k in range(len(rows)):
        if counts[k] > 0.0:
            axpy(downhill, totals[k] - counts[k] * means[k], rows[k])
    inverse = invert(curvature(rows, counts, slopes, prior))
    if inverse.size == 0:
        return np.inf
    sum_rows(delta, inverse, downhill)
    return np.sqrt(max(dot(delta, downhill), 0.0))


@kernel
def part(
    link: int,
    rows: FloatArray,
    counts: FloatArray,
    totals: FloatArray,
    prior: FloatArray,
    shift: FloatArray,
    theta: FloatArray,
    predictors: FloatArray,
    delta: FloatArray,
    changes: FloatArray,
    length: float,
) -> float:
    """How much of the step delta is taken: 1, or less where F would climb."""
    at_first = curved = 0.0  # the part of the slope that is linear along the step
    for i in range(theta.size):
        at_first += delta[i] * (prior[i] * theta[i] - shift[i])
        curved += delta[i] * prior[i] * delta[i]
    for k in range(len(rows)):
        changes[k] = dot(rows[k], delta)
    low, high, share, steep = 0.0, 1.0, 1.0, length * length
    for _ in range(HALVINGS):
        slope = at_first + share * curved
        for k in range(len(rows)):
            if counts[k] > 0.0:
                mean = mean_at(link, predictors[k] + share * changes[k])
                slope += changes[k] * (counts[k] * mean - totals[k])
        share, low, high = narrow(share, low, high, slope, steep)
        if low == high:
            break
    return share


def narrowed(share: float, low: float, high: float, slope: float, steep: float) -> tuple[float, float, float]:
    """(the next share of a step to look at, and what it is between), or the share three times where this one will do.

    `slope` is that of F where it ends, and -`steep` where it begins.
    """
    if slope > CLIMB * steep:
        high = share
    elif share == 1.0 or slope >= FALL * steep:
        return share, share, share
    else:
        low = share
    return 0.5 * (low + high), low, high


narrow = embedded(narrowed)


@kernel
def curvature(rows: FloatArray, counts: FloatArray, slopes: FloatArray, prior: FloatArray) -> FloatArray:
    """H = diag(prior) + sum_k n_k A''(x_k'theta) x_k x_k': [d, d]."""
    d = prior.size
    hessian = np.zeros((d, d))
    for k in range(len(rows)):
        if counts[k] > 0.0:
            add_outer(hessian, counts[k] * slopes[k], rows[k], rows[k])
    for i in range(d):
        hessian[i, i] += prior[i]
    return hessian
