"""Rewards that no linear function of the features follows at all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import number, whole
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.nonlinear import NonlinearProblem
from ensample.types import FloatArray


class QuadraticProblem(NonlinearProblem):
    """mean = height (x'theta)^2 on unit vectors, `count` new ones each round."""

    def __init__(
        self, direction: FloatArray, count: int, height: float, noise: Noise | float
    ) -> None:
        super().__init__(ChangingArms(direction.size), noise)
        self.direction, self.count, self.height = direction, count, height

    def offer(self, rng: Generator) -> FloatArray:
        return unit_rows(rng, self.count, self.arms.dim)

    def means(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.height * np.einsum("kd,d->k", rows, self.direction) ** 2)


@dataclass(frozen=True)
class Quadratic(Family):
    """`quadratic`: every round offers new unit vectors; the mean reward is height (x'theta)^2, theta a unit vector.

    The best linear function of x is a constant: a linear policy is no better than chance.

    >>> import ensample as es
    >>> problem = es.problem("quadratic", dim=4, arms=3).draw(np.random.default_rng(0))
    >>> bool(problem.mean(problem.direction) == problem.mean(-problem.direction))
    True

    Reference: D. Zhou, L. Li and Q. Gu, "Neural Contextual Bandits with UCB-based Exploration", ICML 2020 (with height 10);
    also in Y. Li, J. Xu, B. Wang and Z.-Q. Luo, "Scalable Exploration via Ensemble++", 2025.
    """

    name: ClassVar[str] = "quadratic"
    dim: int = 10
    arms: int = 20
    height: float = 10.0
    noise: float | Noise = 0.1

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("arms", self.arms, 1)
        number("height", self.height, 1e-50, 1e50)
        as_noise(self.noise)

    def draw(self, rng: Generator) -> QuadraticProblem:
        return QuadraticProblem(unit_rows(rng, 1, self.dim)[0], self.arms, self.height, self.noise)
