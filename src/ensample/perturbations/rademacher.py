"""Signs."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ensample.perturbations.law import Perturbation, centred, whole_counts
from ensample.types import ArrayLike, FloatArray, Shape


@dataclass(frozen=True)
class Rademacher(Perturbation):
    """-scale or +scale with equal probability.

    >>> float(abs(Rademacher(0.5).draw(np.random.default_rng(0), 9)).max())
    0.5
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        signs = rng.integers(0, 2, shape, np.int8).astype(np.float64)
        signs *= 2.0 * self.scale
        signs -= self.scale
        return signs

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        counts = whole_counts(counts)
        return centred(rng.binomial(counts, 0.5), counts, self.scale)
