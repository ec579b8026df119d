"""What multiplies a perturbation when it is acted on: a number, or a confidence radius that grows with what was seen."""

from typing import NamedTuple

__all__ = ["GROWS_FROM", "NO_INFLATION", "Inflation"]

GROWS_FROM = 100.0
"""The number of observations from which a growing base grows by about the logarithm."""


class Inflation(NamedTuple):
    """base + width sqrt(information + tail); where sigma is learned, sigma sqrt(base^2 + growth log(1 + t / 100))."""

    base: float
    width: float = 0.0
    tail: float = 0.0
    determinant: bool = False  # whether the information is log(det V / lam^d), or d log(1 + t/(d lam))
    learned: bool = False  # whether the rewards' noise multiplies the base
    growth: float = 0.0  # of the squared base, with the logarithm of t


NO_INFLATION = Inflation(1.0)
"""The scale is in the perturbations."""
