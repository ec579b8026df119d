"""The scales of noise and parameter, learned from the rewards: the fixed point of the evidence (`ensample.calibration`).

Features are divided by their sizes s, so that G = sum x x' / (s s') and b = sum x y / s have no units. An orthogonal change of
coordinates makes G tridiagonal, O(d^3) once, after which a step of the fixed point is O(d).
"""

import math
from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.exact import two_sum
from ensample.kernels.fading import effective_count, fades, fading_rate
from ensample.kernels.interpreted import rare
from ensample.kernels.ridge import PRIOR, entry_of, is_rough, lent, polish, seen_of
from ensample.kernels.rows import add_two, axpy, dot
from ensample.types import FloatArray

__all__ = [
    "FREE",
    "GROWTH",
    "SCRATCH",
    "Scales",
    "calibrate_if_due",
    "due",
    "evidence",
    "evidence_in",
    "first_prior",
    "learn_scales",
    "new_scales",
    "next_time",
    "prior_of",
    "scale_views",
    "unit_of",
]

PRIOR_COUNT = 1.0  # a: how many observations the mean square of the rewards counts for, in either scale
GROWTH = 1.25  # of the number of observations between two times
STEPS = 20  # of the fixed point
SETTLED = 1e-9  # relative change of a step after which no more are made
LEAST, MOST = 1e-6, 1e6  # of lam, for features of size 1
FREE = 1e-15  # the prior of an intercept, in observations: next to none, and V can be inverted before the first
VECTORS = 6
SCRATCH = 4  # rows of d numbers that `learn_scales` writes to


class Scales(NamedTuple):
    """What is learned of the scales: views into one [VECTORS, d] array; numbers are in the first entry of their row."""

    sizes: FloatArray  # the root mean squares of the features, 0 for one that was never seen [d]
    noise: FloatArray  # sigma^2; 0 before the first reward that is not 0
    spread: FloatArray  # tau^2, of the parameter for features of size 1
    effective: FloatArray  # gamma, the effective number of parameters
    strength: FloatArray  # lam = sigma^2 / tau^2, within bounds
    asked: FloatArray  # the number of observations at the last time


def scale_views(scales: FloatArray) -> Scales:
    """The parts of what is learned of the scales."""
    return Scales(scales[0], scales[1], scales[2], scales[3], scales[4], scales[5])


lent_scales = embedded(scale_views)
"""`scale_views` in what kernels lend the array to, and in nothing else: the references are not counted."""


def new_scales(sizes: FloatArray, lam: float) -> FloatArray:
    """Before the first observation; lam > 0 is kept, else it begins at 1."""
    scales = np.zeros((VECTORS, sizes.size))
    known = scale_views(scales)
    known.sizes[:] = sizes
    known.strength[0] = lam or 1.0
    return scales


def first_prior(sizes: FloatArray, lam: float, intercept: bool) -> FloatArray:
    """The diagonal of V before the first observation: [d]."""
    prior: FloatArray = (lam or 1.0) * np.where(sizes > 0.0, sizes, 1.0) ** 2
    if intercept:
        prior[-1] = FREE
    return prior


@rare(worth=4.0)
@kernel
def calibrate_if_due(state: FloatArray, scales: FloatArray, standing: bool, lam: float, intercept: bool) -> None:
    """Learn the scales anew where it is time, or where a feature was seen for the first time: doing it twice changes nothing.

    `standing`: whether the sizes of features are given, or those of what was seen. lam > 0 is kept and no prior learned.
    `intercept`: whether the last feature is the constant 1.
    """
    calibrating = is_due(state, scales, standing)
    if calibrating:
        d = state.shape[1]
        calibrate(state, scales, np.empty((d + 1 + SCRATCH, d)), standing, lam, intercept)
    if calibrating or is_rough(state):
        polish(state)


@borrowing
def is_due(state: FloatArray, scales: FloatArray, standing: bool) -> bool:
    known = lent_scales(scales)
    return due(seen_of(state), known.asked[0], fading_rate(state)) or (not standing and news(state, known.sizes))


@embedded
def due(count: float, asked: float, rate: float) -> bool:
    """Whether the scales are computed after `count` observations, the last time having been after `asked`."""
    return count > asked and count >= next_time(asked, rate)


@embedded
def next_time(count: float, rate: float) -> float:
    """When a quarter of what `count` observations count for has come anew."""
    return count + (GROWTH - 1.0) * effective_count(count, rate)


@borrowing
def news(state: FloatArray, sizes: FloatArray) -> bool:
    """Whether a feature that was never seen is there now."""
    found = False
    for i in range(sizes.size):
        found |= sizes[i] == 0.0 and state[i, i] != entry_of(state, PRIOR, i)
    return found


@borrowing
def calibrate(state: FloatArray, scales: FloatArray, room: FloatArray, standing: bool, lam: float, intercept: bool) -> None:
    """Learn the scales from what a ridge regression has seen and give it the prior that follows; `polish` has to come next.

    `room` is [d + 1 + SCRATCH, d].
    """
    ridge, known = lent(state), lent_scales(scales)
    d, n = ridge.mean.size, effective_count(ridge.seen[0], fading_rate(state))
    G, b = room[:d], room[d]
    for i in range(d):
        for k in range(d):
            G[i, k] = ridge.gram[i, k]
        G[i, i] = (ridge.gram[i, i] - ridge.prior[i]) + ridge.gram_low[i, i]
        if not standing:
            known.sizes[i] = np.sqrt(max(G[i, i], 0.0) / n)
            if fades(state):  # units are not forgotten: they are those of all that was seen
                known.sizes[i] = np.sqrt(ridge.lengths[0, i] / ridge.seen[0])
        b[i] = ridge.target[i]
    learn_scales(known, G, b, room[d + 1 :], ridge.squares[0, 0], n, lam, intercept)
    known.asked[0] = ridge.seen[0]
    for i in range(d):
        prior = prior_of(known, i, intercept)
        replace_prior(ridge.gram[i], ridge.gram_low[i], i, ridge.prior[i], prior)
        ridge.prior[i] = prior


@embedded
def unit_of(size: float) -> float:
    """What a feature is divided by: its size, if it has one."""
    return size if size > 0.0 else 1.0


@embedded
def prior_of(known: Scales, i: int, intercept: bool) -> float:
    """The i-th entry of the diagonal that is V's prior."""
    if intercept and i == known.sizes.size - 1:
        return FREE
    unit = unit_of(known.sizes[i])
    return known.strength[0] * (unit * unit)


@borrowing
def learn_scales(
    known: Scales, G: FloatArray, b: FloatArray, scratch: FloatArray, squares: float, n: float, lam: float, intercept: bool
) -> None:
    """The scales after what counts for n observations, from sum x x', sum x y and sum y^2; G and b are used up.

    `scratch` is [SCRATCH, d].
    """
    d = b.size
    for i in range(d):
        b[i] /= unit_of(known.sizes[i])
        for k in range(d):
            G[i, k] = G[i, k] / unit_of(known.sizes[i]) / unit_of(known.sizes[k])
    free = 1 if intercept else 0  # features that have no prior: the last
    total, all_seen = 0.0, n  # of the squared lengths of features
    for i in range(d - free):
        total += G[i, i]
    if intercept:
        squares -= b[d - 1] * b[d - 1] / n
        move_to_means(G, b, n)
        n -= 1.0
    if squares > 0.0 and n > 0.0:
        noise, spread = known.noise[0], known.spread[0]
        if noise == 0.0:
            noise = spread = squares / n
        length = total / all_seen
        noise, spread, known.effective[0] = evidence_in(G, b[: d - free], scratch, squares, n, length, noise, spread, lam)
        known.noise[0] = noise
        known.spread[0] = max(spread, squares / total * (all_seen / n)) if total > 0.0 else spread
        known.strength[0] = strength_of(known.noise[0], known.spread[0], lam)


@borrowing
def move_to_means(G: FloatArray, b: FloatArray, n: float) -> None:
    """G - n xbar xbar' and b - n xbar ybar, but for the last feature of G, which is the constant 1."""
    d = b.size - 1
    for i in range(d):
        for k in range(d):
            G[i, k] -= G[i, d] * G[k, d] / n
        G[i, i] = max(G[i, i], 0.0)
        b[i] -= G[i, d] * b[d] / n


@borrowing
def replace_prior(row: FloatArray, row_low: FloatArray, i: int, old: float, new: float) -> None:
    """Take one prior off a diagonal entry and put another on it, to twice the digits."""
    total, error = two_sum(row[i], -old)
    error += row_low[i]
    more, rest = two_sum(total, new)
    rest += error
    row[i] = more + rest
    row_low[i] = rest - (row[i] - more)


@borrowing
def strength_of(noise: float, spread: float, lam: float) -> float:
    """lam = sigma^2 / tau^2, within bounds; or what it is kept at."""
    return lam if lam > 0.0 else min(max(noise / spread, LEAST), MOST)


@kernel
def evidence(
    G: FloatArray, b: FloatArray, squares: float, n: float, length: float, noise: float, spread: float, lam: float
) -> tuple[float, float, float]:
    """The fixed point (sigma^2, tau^2) from (noise, spread), and gamma; G and b are used up. lam > 0 is kept.

    `length` is x2, the mean square length of the features. theta = (G + lam I)^-1 b;
    RSS = yy - b'theta - lam |theta|^2, which is yy - 2 b'theta + theta'G theta.
    """
    return evidence_in(G, b, np.empty((SCRATCH, b.size)), squares, n, length, noise, spread, lam)


@borrowing
def evidence_in(
    G: FloatArray,
    b: FloatArray,
    scratch: FloatArray,
    squares: float,
    n: float,
    length: float,
    noise: float,
    spread: float,
    lam: float,
) -> tuple[float, float, float]:
    """`evidence` of as many of the first features as `b` has, in arrays at hand."""
    d = b.size
    mean_square = squares / n
    if not length > 0.0:  # nothing but arms that are 0: the rewards are noise
        return mean_square, spread, 0.0
    diagonal, beside, pivots, right = scratch[0], scratch[1], scratch[2], scratch[3]
    tridiagonal(G, b, diagonal, beside, pivots, right)
    effective = 0.0
    for _ in range(STEPS):
        strength = strength_of(noise, spread, lam)
        pivots[0], right[0] = diagonal[0] + strength, b[0]
        for i in range(1, d):
            if pivots[i - 1] == strength and beside[i - 1] * beside[i - 1] > strength * (diagonal[i] + strength):
                beside[i - 1] = 0.0  # rounding, as in `pairs.factorise`
            weight = beside[i - 1] / pivots[i - 1]
            pivots[i] = max(diagonal[i] + strength - weight * beside[i - 1], strength)
            right[i] = b[i] - weight * right[i - 1]
        theta, below = right[d - 1] / pivots[d - 1], diagonal[d - 1] + strength
        if not below > 0.0:  # by rounding: the diagonal of a Gram matrix is not negative
            below = strength
        trace, norm, fit = 1.0 / pivots[d - 1], theta * theta, theta * b[d - 1]
        for i in range(d - 2, -1, -1):
            theta = (right[i] - beside[i] * theta) / pivots[i]
            entry = diagonal[i] + strength
            below = max(entry - beside[i] * beside[i] / below, strength)
            trace += 1.0 / max(pivots[i] + below - entry, strength)
            norm += theta * theta
            fit += theta * b[i]
        effective = max(d - strength * trace, 0.0)
        residual = max(squares - fit - strength * norm, 0.0)
        last_noise, last_spread = noise, spread
        noise = (residual + PRIOR_COUNT * mean_square) / (max(n - effective, 0.0) + PRIOR_COUNT)
        spread = (norm + PRIOR_COUNT * mean_square / length) / (effective + PRIOR_COUNT)
        if abs(noise - last_noise) <= SETTLED * noise and abs(spread - last_spread) <= SETTLED * spread:
            break
    return noise, spread, effective


@borrowing
def tridiagonal(
    A: FloatArray, b: FloatArray, diagonal: FloatArray, beside: FloatArray, mirror: FloatArray, image: FloatArray
) -> None:
    """Q'AQ and Q'b for an orthogonal Q that makes a symmetric A tridiagonal, by Householder's reflections; A is used up.

    Of as many of A's first rows and columns as `b` has. `mirror` and `image` are scratch.
    """
    d = b.size
    for k in range(d - 2):
        tail = d - k - 1
        unit = power_above(largest_below(A, k, d))  # of collinear features rounding of rounding is left: 1e-170, 1e-320
        first, rest = A[k + 1, k] / unit, 0.0
        for i in range(1, tail):
            mirror[i] = A[k + 1 + i, k] / unit
            rest += mirror[i] * mirror[i]
        if not rest > 0.0:
            beside[k] = A[k + 1, k]
            continue
        length = np.sqrt(first * first + rest)
        if first > 0.0:
            length = -length
        beside[k] = length * unit
        mirror[0] = first - length
        weight = 2.0 / (mirror[0] * mirror[0] + rest)
        reflect(A, k + 1, mirror[:tail], image[:tail], weight)
        axpy(b[k + 1 :], -weight * dot(mirror[:tail], b[k + 1 :]), mirror[:tail])
    for i in range(d):
        diagonal[i] = A[i, i]
    if d > 1:
        beside[d - 2] = A[d - 1, d - 2]


@borrowing
def reflect(A: FloatArray, begin: int, mirror: FloatArray, image: FloatArray, weight: float) -> None:
    """HAH with H = I - weight mirror mirror', of the rows and columns from `begin` on that `mirror` is for."""
    for i in range(image.size):
        image[i] = 0.0
    end = begin + mirror.size
    for i in range(mirror.size):
        axpy(image, mirror[i], A[begin + i, begin:end])
    shift = 0.5 * weight * weight * dot(image, mirror)
    for i in range(mirror.size):
        image[i] = weight * image[i] - shift * mirror[i]
    for i in range(mirror.size):
        add_two(A[begin + i, begin:end], -mirror[i], image, -image[i], mirror)


@borrowing
def largest_below(A: FloatArray, k: int, d: int) -> float:
    """The largest size in column k below the diagonal, of the first d rows."""
    largest = 0.0
    for i in range(k + 1, d):
        largest = max(largest, abs(A[i, k]))
    return largest


@borrowing
def power_above(size: float) -> float:
    """A power of two that is about as large: to divide by it costs no digit. 1 where the size is 0."""
    if not size > 0.0:
        return 1.0
    exponent = math.frexp(size)[1]
    if abs(exponent) > 1000:
        exponent = 1000 if exponent > 0 else -1000
    return math.ldexp(1.0, exponent)
