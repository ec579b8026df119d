"""Bandits without features: an arm is a basis vector."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import number, whole
from ensample.problems.family import Family
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import BernoulliNoise


@dataclass(frozen=True)
class BernoulliArms(Family):
    """`bernoulli`: arms are basis vectors that pay 0 or 1, with probabilities uniform on [low, high]."""

    name: ClassVar[str] = "bernoulli"
    arms: int = 10
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        whole("arms", self.arms, 1)
        number("low", self.low, 0.0, 1.0)
        number("high", self.high, self.low, 1.0)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms

    def draw(self, rng: Generator) -> LinearProblem:
        means = self.low + (self.high - self.low) * rng.random(self.arms)
        return LinearProblem(FiniteArms(np.eye(self.arms)), means, BernoulliNoise())

    def example(self) -> LinearProblem:
        return LinearProblem(
            FiniteArms(np.eye(self.arms)), np.full(self.arms, self.high), BernoulliNoise()
        )
