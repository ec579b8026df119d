"""Tails by their definitions: continued fraction, bisection, finite sums.

SciPy's are checked against them.
"""

import math
from collections.abc import Callable

TINY = 1e-300
STEPS = 200  # of bisection: enough to reach neighbouring doubles


def beta_cdf(a: float, b: float, x: float) -> float:
    """I_x(a, b), the cdf of Beta(a, b), by its continued fraction (Lentz's method)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side only
        return 1.0 - beta_cdf(b, a, 1.0 - x)
    front = (
        math.exp(
            math.lgamma(a + b)
            - math.lgamma(a)
            - math.lgamma(b)
            + a * math.log(x)
            + b * math.log1p(-x)
        )
        / a
    )
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
    """Where each tail of the binomial law is alarm / 2."""
    low, high = 0.0, 1.0
    if successes > 0:  # P(X >= k | p) = I_p(k, n - k + 1)
        low, _ = bracket(
            lambda p: beta_cdf(successes, trials - successes + 1, p) > alarm / 2, 0.0, 1.0
        )
    if successes < trials:  # P(X <= k | p) = I_{1-p}(n - k, k + 1)
        _, high = bracket(
            lambda p: beta_cdf(trials - successes, successes + 1, 1.0 - p) < alarm / 2, 0.0, 1.0
        )
    return low, high


def bracket(above: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers between which `above` turns from false to true."""
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if above(middle) else (middle, high)
    return low, high


def student_quantile(alarm: float, freedom: int) -> float:
    """P(|T| > t) = I_{n / (n + t^2)}(n / 2, 1 / 2)."""
    low, high = bracket(
        lambda t: beta_cdf(0.5 * freedom, 0.5, freedom / (freedom + t * t)) < 2.0 * alarm, 0.0, 1e12
    )
    return 0.5 * (low + high)


def chi_square_tail(dim: int, x: float) -> float:
    """By the finite sum that is exact for whole degrees of freedom.

    Q(a + 1, h) = Q(a, h) + h^a e^-h / Gamma(a + 1).
    """
    half, start = 0.5 * x, 0.5 * (dim % 2)
    tail = math.erfc(math.sqrt(half)) if dim % 2 else 0.0
    orders = (start + k for k in range(dim // 2))
    return tail + math.fsum(
        math.exp(a * math.log(half) - half - math.lgamma(a + 1.0)) for a in orders
    )
