"""Sums of signs."""

import math
from dataclasses import dataclass

from numpy.random import Generator

from ensample.checks import whole
from ensample.perturbations.law import Perturbation, centred, whole_counts
from ensample.types import ArrayLike, FloatArray, Shape


@dataclass(frozen=True)
class CenteredBinomial(Perturbation):
    """scale (2 B - trials) / sqrt(trials) with B ~ Binomial(trials, 1/2): the mean of `trials` signs, rescaled.

    >>> CenteredBinomial(trials=4, scale=3.0).variance
    9.0
    """

    trials: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trials", whole("trials", self.trials, 1, 1_000_000))

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        return centred(
            rng.binomial(self.trials, 0.5, shape), self.trials, self.scale / math.sqrt(self.trials)
        )

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        trials = self.trials * whole_counts(counts)
        return centred(rng.binomial(trials, 0.5), trials, self.scale / math.sqrt(self.trials))
