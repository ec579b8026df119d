"""Canonical links as kernels know them: A', A'' and the surplus A'(u) - y. The same lines run in Python."""

import numpy as np

from ensample.kernels.compile import embedded

__all__ = ["LOGISTIC_LINK", "NO_LINK", "curve_at", "link_mean", "mean_at", "slope_at"]

NO_LINK, LOGISTIC_LINK = -1, 0  # means are linear, or by a link that only Python knows; A(u) = log(1 + e^u)


def link_mean(link: int, u: float) -> float:
    """A'(u), the mean of a reward whose linear predictor is u."""
    if link == NO_LINK:
        return u
    small = np.exp(-abs(u))
    return 1.0 / (1.0 + small) if u >= 0.0 else small / (1.0 + small)


mean_at = embedded(link_mean)
"""`link_mean` in kernels."""


@embedded
def slope_at(link: int, u: float) -> float:
    """A''(u), its variance."""
    if link == NO_LINK:
        return 1.0
    small = np.exp(-abs(u))
    return small / ((1.0 + small) * (1.0 + small))


@embedded
def curve_at(link: int, u: float, y: float) -> tuple[float, float, float]:
    """(A'(u) - y, A''(u), A'''(u)) by one exponential; for clicks the first as (1 - y) A'(u) - y A'(-u), which keeps its digits
    where the mean is nearly y.
    """
    if link == NO_LINK:
        return u - y, 1.0, 0.0
    small = np.exp(-abs(u))
    large = 1.0 / (1.0 + small)
    small *= large
    mean, other = (large, small) if u >= 0.0 else (small, large)
    return (1.0 - y) * mean - y * other, mean * other, mean * other * (other - mean)
