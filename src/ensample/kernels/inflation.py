"""What multiplies a perturbation when it is acted on: a number, or a confidence radius that grows with what was seen."""

from typing import NamedTuple

import numpy as np

from ensample.kernels.bold import is_bold
from ensample.kernels.compile import embedded
from ensample.kernels.track import Track, information

__all__ = ["NO_INFLATION", "Inflation", "inflation"]


class Inflation(NamedTuple):
    """base + width sqrt(information + tail), or base sigma where that is learned and bold sigma in bold rounds."""

    base: float
    width: float = 0.0
    tail: float = 0.0
    determinant: bool = False  # whether the information is log(det V / lam^d), or d log(1 + t/(d lam))
    learned: bool = False  # whether the rewards' noise multiplies the base
    bold: float = 0.0  # what it multiplies in bold rounds; 0: there are none


NO_INFLATION = Inflation(1.0)
"""The scale is in the perturbations."""


@embedded
def inflation(factor: Inflation, track: Track, t: int) -> float:
    """After t observations."""
    if factor.learned:
        base, noise = factor.base, track.scales.noise[0]
        if factor.bold > 0.0 and is_bold(track.tally):
            base = factor.bold
        return base * np.sqrt(noise) if noise > 0.0 else base
    if factor.width == 0.0:
        return factor.base
    d = track.mean.size
    learned = information(track) if factor.determinant else d * np.log1p(t / d / track.lam)
    return factor.base + factor.width * np.sqrt(learned + factor.tail)
