"""Factor of a perturbation when it is acted on.

A number, or a confidence radius that grows with the observations.
"""

from typing import NamedTuple

GROWS_FROM = 100.0
"""Number of observations from which a growing base grows about as the logarithm."""


class Inflation(NamedTuple):
    """Factor base + width sqrt(information + tail), or sigma sqrt(base^2 + growth log(1 + t / 100)) if sigma is learned."""

    base: float
    width: float = 0.0
    tail: float = 0.0
    determinant: bool = (
        False  # whether the information is log(det V / lam^d), or d log(1 + t/(d lam))
    )
    learned: bool = False  # whether the rewards' noise multiplies the base
    growth: float = 0.0  # of the squared base, with the logarithm of t


NO_INFLATION = Inflation(1.0)
"""Factor 1: the scale is that of the perturbations."""
