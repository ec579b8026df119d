"""Heavy tails."""

from dataclasses import dataclass

import numpy as np

from ensample.problems.noise import STUDENT_NOISE, ScaledNoise


@dataclass(frozen=True)
class StudentNoise(ScaledNoise):
    """Student's t with three degrees of freedom, its standard deviation `scale`: subGaussian with no constant.

    >>> StudentNoise(0.3).size, StudentNoise(0.3).subgaussian
    (0.3, inf)
    """

    scale: float
    kind = STUDENT_NOISE

    @property
    def subgaussian(self) -> float:
        return np.inf

    @property
    def size(self) -> float:
        return self.scale
