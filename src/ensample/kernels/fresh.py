"""Perturbation sums that are drawn anew each round, with larger perturbations of older observations (ageing).

After n observations the i-th is perturbed with 1 + rate log2(n / i) times the variance of a new one, and the prior with 1 + A
times its own. Of G = sum x x', two triangular roots are kept: L'L = G where observations age, and R'R = G + E with E what
ageing has added. At n = 2, 3, 4, 5, 7, 9, ... the ageing a = rate log2(1 + (n - n_b) / n_eff(n_b)) since the last such n, n_b,
is added to all observations so far: E <- E + a G and A <- A + a. A draw is

    S = initial sqrt((1 + A) prior) w + reward R'g,   w, g ~ N(0, I).

The prior is no part of R, so that it may be learned anew at any time.
"""

import math

import numpy as np

from ensample.kernels.calibration import next_time
from ensample.kernels.compile import kernel
from ensample.kernels.ensemble import estimate_into
from ensample.kernels.fading import effective_count, fades, fading_rate, kept_share, take_in
from ensample.kernels.ridge import PRIOR, entry_of, rotate, seen_of, view
from ensample.kernels.rows import dot, sum_rows, write
from ensample.types import FloatArray, IntArray

__all__ = [
    "AGED_AT",
    "AGE_OF_PRIOR",
    "add_observed",
    "candidates",
    "fresh_votes",
    "learn_fresh",
    "learn_fresh_with_constant",
    "shrink_roots",
]

AGE_OF_PRIOR, AGED_AT = 0, 1  # entries of `ages`: A, and n_b; 0 before the first observation


@kernel
def learn_fresh(
    state: FloatArray, root: FloatArray, gram_root: FloatArray, ages: FloatArray, rate: float, x: FloatArray, y: float
) -> None:
    """Observe (x, y). `root` is R [d, d], `gram_root` is L: [d, d], or [0, d] if nothing ages."""
    fading = fading_rate(state)
    if fades(state):
        shrink_roots(root, gram_root, ages, fading)
    take_in(state, x, y)
    add_observed(root, gram_root, ages, rate, x, seen_of(state), fading)


@kernel
def learn_fresh_with_constant(
    state: FloatArray,
    root: FloatArray,
    gram_root: FloatArray,
    ages: FloatArray,
    origin: FloatArray,
    rate: float,
    x: FloatArray,
    y: float,
) -> None:
    """`learn_fresh` (x, 1) and y less the first reward, which `origin` [1] keeps."""
    if seen_of(state) == 0.0:
        origin[0] = y
    longer = np.ones(x.size + 1)
    write(longer, x)
    learn_fresh(state, root, gram_root, ages, rate, longer, y - origin[0])


@kernel
def shrink_roots(root: FloatArray, gram_root: FloatArray, ages: FloatArray, fading: float) -> None:
    """Fade the past by one observation: R and L times sqrt(g), A times g."""
    kept = kept_share(fading)
    for i in range(root.shape[0]):
        for k in range(i, root.shape[1]):
            root[i, k] *= np.sqrt(kept)
    for i in range(gram_root.shape[0]):
        for k in range(i, gram_root.shape[1]):
            gram_root[i, k] *= np.sqrt(kept)
    ages[AGE_OF_PRIOR] *= kept


@kernel
def add_observed(
    root: FloatArray, gram_root: FloatArray, ages: FloatArray, rate: float, x: FloatArray, count: float, fading: float
) -> None:
    """Add x x', of observation number `count`, to G, and age all observations so far if it is time."""
    rotate(root, x)
    if rate == 0.0:
        return
    rotate(gram_root, x)
    last = ages[AGED_AT]
    if last == 0.0:
        ages[AGED_AT] = count
    elif count >= next_time(last, fading):
        added = rate * math.log2(1.0 + (count - last) / effective_count(last, fading))
        ages[AGE_OF_PRIOR] += added
        ages[AGED_AT] = count
        row = np.empty(x.size)
        for i in range(x.size):
            for k in range(x.size):
                row[k] = np.sqrt(added) * gram_root[i, k]
            rotate(root, row)


@kernel
def candidates(
    state: FloatArray, root: FloatArray, ages: FloatArray, initial: float, reward: float, w: FloatArray, g: FloatArray
) -> FloatArray:
    """Return theta_hat + V^-1 S, a row for each row of w and g [m, d]: [m, d]."""
    m, d = w.shape
    thetas, total, weights = np.empty((m, d)), np.empty(d), np.empty(d)
    for j in range(m):
        for i in range(d):
            weights[i] = reward * g[j, i]
        sum_rows(total, root, weights)
        for i in range(d):
            total[i] += initial * np.sqrt((1.0 + ages[AGE_OF_PRIOR]) * entry_of(state, PRIOR, i)) * w[j, i]
        estimate_into(state, total, thetas[j])
    return thetas


@kernel
def fresh_votes(
    state: FloatArray,
    root: FloatArray,
    ages: FloatArray,
    initial: float,
    reward: float,
    w: FloatArray,
    g: FloatArray,
    by_coordinate: FloatArray,
    sizes: FloatArray,
) -> IntArray:
    """Return each candidate's greedy arm among the columns of [d, K]: [m]. As by `candidates`, but for rounding.

    x'theta = x'theta_hat + (V^-1 x)'S takes K d (d + m) steps instead of m d (d + K). Features of `sizes` 0 were never played:
    they are divided by their root mean square on offer.
    """
    ridge = view(state)
    (m, d), arms = w.shape, by_coordinate.shape[1]
    x, gain, of_prior, of_past = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    chosen, best = np.zeros(m, np.int64), np.empty(m)
    for k in range(arms):
        for i in range(d):
            x[i] = by_coordinate[i, k]
            if sizes[i] == 0.0 and x[i] != 0.0:
                x[i] /= np.sqrt(dot(by_coordinate[i], by_coordinate[i]) / arms)
        sum_rows(gain, ridge.inverse, x)
        for i in range(d):
            of_prior[i] = initial * np.sqrt((1.0 + ages[AGE_OF_PRIOR]) * ridge.prior[i]) * gain[i]
            of_past[i] = reward * dot(root[i], gain)
        centre = dot(x, ridge.mean)
        for j in range(m):
            score = centre + dot(of_prior, w[j]) + dot(of_past, g[j])
            if k == 0 or score > best[j]:
                best[j] = score
                chosen[j] = k
    return chosen
