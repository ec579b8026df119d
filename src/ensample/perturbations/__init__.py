"""Laws of the perturbations: P_R of the rewards (scalar) and P_I of the initial vectors.

Each law knows its scale, variance, subGaussian constant and anti-concentration, how to draw, and
how to draw the sum of n of its draws in one step where that law is known. The paper asks of a law
(its appendix on generalising the perturbations) that it be symmetric, i.i.d., 1-subGaussian and of
variance at least 1/2 after division by its subGaussian constant.

A law of your own is a small frozen dataclass:

>>> from dataclasses import dataclass
>>> import numpy as np
>>> from ensample.perturbations import Perturbation
>>> @dataclass(frozen=True)
... class Triangular(Perturbation):
...     scale: float = 1.0  # its standard deviation
...     @property
...     def subgaussian(self):
...         return self.scale  # a sum of two uniforms, each with its own variance as proxy
...     def draw(self, rng, shape):
...         edge = 6**0.5
...         return self.scale * rng.triangular(-edge, 0.0, edge, shape)
>>> Triangular(2.0).draw(np.random.default_rng(0), 3).shape
(3,)
"""

from ensample.perturbations.law import InitialLaw, Perturbation, drawn
from ensample.perturbations.laws import (
    GAUSSIAN,
    P_N,
    CenteredBinomial,
    Gaussian,
    Rademacher,
    Sphere,
    Uniform,
)

__all__ = [
    "GAUSSIAN",
    "P_N",
    "CenteredBinomial",
    "Gaussian",
    "InitialLaw",
    "Perturbation",
    "Rademacher",
    "Sphere",
    "Uniform",
    "drawn",
]
