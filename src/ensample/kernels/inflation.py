"""What multiplies a perturbation when it is acted on: a number, or a confidence radius that grows with what was seen."""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import embedded
from ensample.kernels.fading import effective_count
from ensample.kernels.track import Track, information

__all__ = ["GROWS_FROM", "NO_INFLATION", "Inflation", "inflation"]

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


@embedded
def inflation(factor: Inflation, track: Track, t: int) -> float:
    """After t observations."""
    if factor.learned:
        noise, base = track.scales.noise[0], factor.base
        if factor.growth > 0.0:
            base = np.sqrt(base * base + factor.growth * np.log1p(effective_count(float(t), track.rate) / GROWS_FROM))
        return base * np.sqrt(noise) if noise > 0.0 else base
    if factor.width == 0.0:
        return factor.base
    d = track.mean.size
    learned = information(track) if factor.determinant else d * np.log1p(t / d / track.lam)
    return factor.base + factor.width * np.sqrt(learned + factor.tail)
