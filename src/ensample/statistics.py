"""Exact intervals: tails of the beta, binomial, Student and chi-square laws, and the Dvoretzky-Kiefer-Wolfowitz radius."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ensample.types import FloatArray

__all__ = [
    "binomial_interval",
    "chi_square_tail",
    "deciding_sample",
    "ks_distance",
    "ks_distance_to",
    "ks_radius",
    "normal_cdf",
    "regularized_beta",
    "student_quantile",
]

TINY = 1e-300
STEPS = 200  # of bisection: enough to reach neighbouring doubles


def regularized_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), the cdf of Beta(a, b), by its continued fraction (Lentz's method).

    >>> round(regularized_beta(2, 3, 0.5), 12)
    0.6875
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side only
        return 1.0 - regularized_beta(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d, k = 1.0, 1.0 / guarded(1.0 - (a + b) * x / (a + 1.0)), 0
    value, change = d, 0.0
    while abs(change - 1.0) > 1e-15 and k < 1_000_000:
        k += 1
        even = k * (b - k) * x / ((a + 2 * k - 1.0) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1.0))
        for term in (even, odd):
            d = 1.0 / guarded(1.0 + term * d)
            c = guarded(1.0 + term / c)
            change = c * d
            value *= change
    return front * value


def guarded(value: float) -> float:
    return value if abs(value) > TINY else TINY


def binomial_interval(successes: int, trials: int, alarm: float) -> tuple[float, float]:
    """The Clopper-Pearson interval: each end is on the wrong side of the truth with probability at most alarm / 2.

    >>> low, high = binomial_interval(0, 100, 0.05)
    >>> low, round(high, 6)
    (0.0, 0.036217)
    """
    low, high = 0.0, 1.0
    if successes > 0:  # P(X >= k | p) = I_p(k, n - k + 1)
        low, _ = bracket(lambda p: regularized_beta(successes, trials - successes + 1, p) > alarm / 2, 0.0, 1.0)
    if successes < trials:  # P(X <= k | p) = I_{1-p}(n - k, k + 1)
        _, high = bracket(lambda p: regularized_beta(trials - successes, successes + 1, 1.0 - p) < alarm / 2, 0.0, 1.0)
    return low, high


def bracket(above: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers between which `above` turns from false to true."""
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if above(middle) else (middle, high)
    return low, high


def deciding_sample(estimate: float, bound: float, trials: int, alarm: float) -> int:
    """Trials after which, were `estimate` the truth, the interval would exclude `bound` (Chernoff's bound).

    >>> deciding_sample(0.5, 0.4, 100, 0.01)
    260
    """
    step = 0.5 / trials  # an estimate on the bound itself is taken to be half a success away from it
    if abs(estimate - bound) < step:
        estimate = estimate + step if bound + step < 1.0 else estimate - step
    bound = min(max(bound, 1e-15), 1.0 - 1e-15)
    estimate = min(max(estimate, 0.0), 1.0)
    divergence = sum(p * math.log(p / q) for p, q in ((estimate, bound), (1.0 - estimate, 1.0 - bound)) if p > 0.0)
    return math.ceil(math.log(2.0 / alarm) / max(divergence, 1e-300))


@lru_cache
def student_quantile(alarm: float, freedom: int) -> float:
    """t with P(T > t) = alarm for Student's law.

    >>> round(student_quantile(0.025, 10), 6)
    2.228139
    """
    low, high = bracket(lambda t: regularized_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t)) < 2.0 * alarm, 0.0, 1e12)
    return 0.5 * (low + high)


def chi_square_tail(dim: int, x: float) -> float:
    """P(chi^2_dim >= x), by the finite sum that is exact for whole degrees of freedom.

    >>> round(chi_square_tail(2, 3.0) / math.exp(-1.5), 12)
    1.0
    """
    if x <= 0.0:
        return 1.0
    half, start = 0.5 * x, 0.5 * (dim % 2)
    tail = math.erfc(math.sqrt(half)) if dim % 2 else 0.0
    orders = (start + k for k in range(dim // 2))  # Q(a + 1, h) = Q(a, h) + h^a e^-h / Gamma(a + 1)
    return tail + math.fsum(math.exp(a * math.log(half) - half - math.lgamma(a + 1.0)) for a in orders)


def normal_cdf(values: FloatArray) -> FloatArray:
    """P(N(0, 1) <= value) for each value."""
    flat = np.asarray(values, np.float64).ravel()
    return np.array([0.5 * math.erfc(-value * math.sqrt(0.5)) for value in flat.tolist()]).reshape(np.shape(values))


def ks_radius(draws: int, alarm: float) -> float:
    """The empirical cdf of n draws stays within this of the true one, but for probability alarm (Massart's constant)."""
    return math.sqrt(math.log(2.0 / alarm) / (2.0 * draws))


def ks_distance_to(uniform: FloatArray) -> float:
    """sup |F_n - F| where `uniform` are the draws after their own cdf F."""
    ordered = np.sort(uniform)
    steps = np.arange(1, ordered.size + 1) / ordered.size
    return float(max(np.max(steps - ordered), np.max(ordered - steps + 1.0 / ordered.size)))


def ks_distance(first: FloatArray, second: FloatArray) -> float:
    """sup |F_n - G_m| of two samples; ties are what they are, as for whole numbers.

    >>> ks_distance(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    points = np.union1d(first, second)
    places = (np.searchsorted(np.sort(sample), points, side="right") / sample.size for sample in (first, second))
    ours, theirs = places
    return float(np.abs(ours - theirs).max())
