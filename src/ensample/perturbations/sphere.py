"""The sphere, for initial vectors."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ensample.perturbations.gaussian import standard_normals
from ensample.perturbations.law import InitialLaw
from ensample.types import FloatArray


@dataclass(frozen=True)
class Sphere(InitialLaw):
    """Uniform on the sphere of radius scale * sqrt(dim): for initial vectors only, its coordinates are not independent.

    It is admitted by the appendix, whose proof uses only that u'Z is symmetric, 1-subGaussian and of variance >= |u|^2/2: so is
    a vector uniform on the sphere of radius sqrt(dim) beside independent rewards' perturbations.

    >>> w = Sphere(2.0).draw_vectors(np.random.default_rng(0), size=1, dim=9)
    >>> round(float(np.linalg.norm(w)), 12)
    6.0
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def norm_bound(self, dim: int, log_delta: float) -> float:
        return self.scale * math.sqrt(dim)

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        vectors = standard_normals(rng, (size, dim))
        vectors *= self.scale * math.sqrt(dim) / np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
