"""Rewards that a network gives."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import whole
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.nonlinear import NonlinearProblem
from ensample.types import FloatArray

SLOPE = 0.01  # of a leaky unit, below zero


class NetworkProblem(NonlinearProblem):
    """mean = w'phi(W x) with phi(u) = max(u, 0.01 u)."""

    def __init__(
        self, features: FloatArray, inner: FloatArray, outer: FloatArray, noise: Noise | float
    ) -> None:
        super().__init__(FiniteArms(features), noise)
        self.inner, self.outer = inner, outer  # [h, d], [h]

    def means(self, rows: FloatArray) -> FloatArray:
        units = np.einsum("kd,hd->kh", rows, self.inner)
        return np.asarray(np.einsum("kh,h->k", np.maximum(units, SLOPE * units), self.outer))


@dataclass(frozen=True)
class NetworkRewards(Family):
    """`neural`: the mean reward is a network with one hidden layer of leaky units, all weights N(0, 1).

    Arms have coordinates U[-1, 1], the last one 1. The noise has variance 100: a third of the spread of the arms. With no more
    arms than features a linear function can be as good: 100 arms in 100 dimensions are linearly independent.

    >>> import ensample as es
    >>> problem = es.problem("neural", dim=5, arms=8).draw(np.random.default_rng(0))
    >>> problem.arms, bool(problem.arms.features[:, -1].min() == 1.0)
    (FiniteArms(8 arms, dim=5), True)

    Reference: X. Lu and B. Van Roy, "Ensemble Sampling", NeurIPS 2017, section 5.
    """

    name: ClassVar[str] = "neural"
    dim: int = 100
    arms: int = 100
    hidden: int = 50
    noise: float | Noise = 10.0

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("arms", self.arms, 1)
        whole("hidden", self.hidden, 1)
        as_noise(self.noise)

    def draw(self, rng: Generator) -> NetworkProblem:
        inner, outer = (
            rng.standard_normal((self.hidden, self.dim)),
            rng.standard_normal(self.hidden),
        )
        features = np.ones((self.arms, self.dim))
        features[:, :-1] = rng.uniform(-1.0, 1.0, (self.arms, self.dim - 1))
        return NetworkProblem(features, inner, outer, self.noise)
