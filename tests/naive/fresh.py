"""The covariance of a fresh ensemble's perturbation sums, observation by observation."""

import math

import numpy as np


def effective(count: float, half_life: float | None) -> float:
    """Return the effective number of observations: the last counts for 1, earlier ones for less."""
    return count if half_life is None else sum(0.5 ** (k / half_life) for k in range(round(count)))


def ageing_times(count: int, half_life: float | None = None) -> list[tuple[int, float]]:
    """Return the numbers of observations at which all age, with log2 of the growth before each."""
    found, last = [], 1
    for n in range(2, count + 1):
        base = effective(last, half_life)
        if n >= last + 0.25 * base:
            found.append((n, math.log2(1.0 + (n - last) / base)))
            last = n
    return found


def covariance(
    X: np.ndarray, prior: np.ndarray, new: float, ageing: float, half_life: float | None = None
) -> np.ndarray:
    """Return Cov(S) / sigma^2 after the rows of X [n, d] were learned, in order.

    `prior` is the diagonal of Lambda [d].

    `new` is f0^2, the variance of a new perturbation, and `ageing` what log2(n / i) of an old one
    is multiplied by.
    """
    n = len(X)
    times = ageing_times(n, half_life)
    share = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
    total = np.zeros((X.shape[1], X.shape[1]))
    for i, x in enumerate(X, start=1):
        variance = new + ageing * sum(log for time, log in times if time >= i)
        total += share ** (n - i) * variance * np.outer(x, x)
    aged = sum(share ** (n - time) * ageing * log for time, log in times)
    return total + (new + aged) * np.diag(prior)
