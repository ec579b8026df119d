"""The uniform law."""

import math
from dataclasses import dataclass

from numpy.random import Generator

from ensample.perturbations.law import Perturbation
from ensample.types import FloatArray, Shape


@dataclass(frozen=True)
class Uniform(Perturbation):
    """Uniform on [-sqrt(3) scale, sqrt(3) scale], so that the standard deviation is `scale`.

    On [-1, 1] with subGaussian constant 1 the variance would be 1/3 and the appendix would not apply. The sum of n
    uniforms has no law that is cheap to draw from: `draw_sum` draws n and adds.
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        return math.sqrt(3.0) * self.scale * (2.0 * rng.random(shape) - 1.0)
