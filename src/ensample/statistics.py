"""Tails, quantiles and exact intervals from SciPy; the radius of Dvoretzky, Kiefer and Wolfowitz.

SciPy is in the extra `lab`: claims, studies and their reports need it, and who compares two
simulations; policies, problems and simulations do not. So it is imported when a number is asked
for.
"""

import math

import numpy as np

from ensample.extras import package
from ensample.types import FloatArray

SPECIAL, USER = "scipy.special", "an interval or a p-value"
CONFIDENCE = 0.95


def require_scipy() -> None:
    """Raise, before the work, if SciPy is missing."""
    package(SPECIAL, USER)


def beta_cdf(a: float, b: float, x: float) -> float:
    """Return P(Beta(a, b) <= x).

    >>> round(beta_cdf(2, 3, 0.5), 12)
    0.6875
    """
    return float(package(SPECIAL, USER).betainc(a, b, x))


def binomial_interval(successes: int, trials: int, alarm: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval; each end misses with probability at most alarm / 2.

    >>> low, high = binomial_interval(0, 100, 0.05)
    >>> low, round(high, 6)
    (0.0, 0.036217)
    """
    special = package(SPECIAL, USER)
    low = special.betaincinv(successes, trials - successes + 1, alarm / 2) if successes > 0 else 0.0
    high = (
        special.betainccinv(successes + 1, trials - successes, alarm / 2)
        if successes < trials
        else 1.0
    )
    return float(low), float(high)


def deciding_sample(estimate: float, bound: float, trials: int, alarm: float) -> int:
    """Return how many trials exclude `bound` if `estimate` is the truth, by Chernoff's bound.

    >>> deciding_sample(0.5, 0.4, 100, 0.01)
    260
    """
    step = 0.5 / trials  # an estimate on the bound is taken to be half a success away from it
    if abs(estimate - bound) < step:
        estimate = estimate + step if bound + step < 1.0 else estimate - step
    bound = min(max(bound, 1e-15), 1.0 - 1e-15)
    estimate = min(max(estimate, 0.0), 1.0)
    divergence = sum(
        p * math.log(p / q)
        for p, q in ((estimate, bound), (1.0 - estimate, 1.0 - bound))
        if p > 0.0
    )
    return math.ceil(math.log(2.0 / alarm) / max(divergence, 1e-300))


def student_quantile(alarm: float, freedom: int) -> float:
    """Return t with P(T > t) = alarm for Student's law.

    >>> round(student_quantile(0.025, 10), 6)
    2.228139
    """
    return -float(package(SPECIAL, USER).stdtrit(freedom, alarm))


def student_tail(t: float, freedom: int) -> float:
    """Return P(T > t) for Student's law.

    >>> round(student_tail(2.228139, 10), 6)
    0.025
    """
    return float(package(SPECIAL, USER).stdtr(freedom, -t))


def standard_error(values: FloatArray) -> FloatArray:
    """Return that of the mean over runs: [runs, ...] to [...]; NaN for a single run.

    >>> standard_error(np.array([[1.0], [2.0], [3.0]])).round(6).tolist()
    [0.57735]
    """
    runs = len(values)
    if runs == 1:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(runs))


def half_width(values: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """Return half the width of the mean's interval over runs: [runs, ...] to [...]."""
    return student_quantile((1.0 - confidence) / 2.0, len(values) - 1) * standard_error(values)


def p_value(values: FloatArray) -> float:
    """Return the p-value of a mean of zero by Student's t, [runs]; NaN for a single run."""
    mean, error = abs(float(values.mean())), float(standard_error(values))
    if error > 0.0:
        return 2.0 * student_tail(mean / error, len(values) - 1)
    return error if math.isnan(error) else float(mean == 0.0)


def chi_square_tail(dim: int, x: float) -> float:
    """Return P(chi^2_dim >= x).

    >>> round(chi_square_tail(2, 3.0) / math.exp(-1.5), 12)
    1.0
    """
    return float(package(SPECIAL, USER).chdtrc(dim, x))


def normal_cdf(values: FloatArray) -> FloatArray:
    """Return P(N(0, 1) <= value) for each value."""
    return np.asarray(package(SPECIAL, USER).ndtr(values))


def ks_radius(draws: int, alarm: float) -> float:
    """Return how far an empirical cdf is from the true one, but for probability alarm (Massart)."""
    return math.sqrt(math.log(2.0 / alarm) / (2.0 * draws))


def ks_distance_to(uniform: FloatArray) -> float:
    """Return sup |F_n - F|, where `uniform` are the draws after their own cdf F."""
    ordered = np.sort(uniform)
    steps = np.arange(1, ordered.size + 1) / ordered.size
    return float(max(np.max(steps - ordered), np.max(ordered - steps + 1.0 / ordered.size)))


def ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return sup |F_n - G_m| of two samples, which may have ties.

    >>> ks_distance(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    points = np.union1d(first, second)
    places = (
        np.searchsorted(np.sort(sample), points, side="right") / sample.size
        for sample in (first, second)
    )
    ours, theirs = places
    return float(np.abs(ours - theirs).max())
