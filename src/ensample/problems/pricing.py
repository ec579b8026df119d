"""Prices that a customer pays or not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import number, vector
from ensample.problems.family import Family, check_fields
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import SaleNoise
from ensample.problems.problem import FiniteProblem
from ensample.types import ArrayLike, FloatArray


class PricingProblem(LinearProblem):
    """Prices as basis vectors, each paid with its own probability: the reward is 0 or the price.

    >>> problem = PricingProblem(prices=[1.0, 10.0], demand=[0.9, 0.2])
    >>> problem.best_mean(), problem.spreads.tolist()
    (2.0, [0.3, 4.0])
    """

    arguments = ("prices", "demand")

    def __init__(self, prices: ArrayLike, demand: ArrayLike) -> None:
        self.prices = vector("prices", prices)
        self.demand = vector("demand", demand, self.prices.size)
        for price, chance in zip(self.prices, self.demand, strict=True):
            number("prices", price, 1e-50)
            number("demand", chance, 0.0, 1.0)
        self.spreads = self.prices * np.sqrt(self.demand * (1.0 - self.demand))
        arms, noise = FiniteArms(np.eye(self.prices.size)), SaleNoise(float(self.prices.max()))
        super().__init__(arms, self.prices * self.demand, noise)

    def reward(self, x: FloatArray, rng: Generator) -> float:
        return self.noise.draw(self.mean(x), float(x @ self.spreads), rng)

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | None:
        if not (self.answers_as(PricingProblem) and isinstance(self.arms, FiniteArms)):
            return None
        arrays = self._finite(SaleNoise(float(self.prices.max())))
        return arrays._replace(spreads=self.spreads)


@dataclass(frozen=True)
class Pricing(Family):
    """`pricing`: `arms` prices up to `top`, each a basis vector.

    A price p is paid with probability 1 / (1 + exp(8 (p - w) / top)), with w uniform on
    [0.2, 0.8] top: how much customers would pay differs from run to run.
    """

    name: ClassVar[str] = "pricing"
    arms: int = 20
    top: float = 100.0

    def __post_init__(self) -> None:
        check_fields(self)
        number("top", self.top, 1e-50, 1e50)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms

    def draw(self, rng: Generator) -> PricingProblem:
        return self._problem(0.2 + 0.6 * rng.random())

    def example(self) -> PricingProblem:
        return self._problem(0.8)

    def _problem(self, worth: float) -> PricingProblem:
        shares = np.arange(1, self.arms + 1) / self.arms
        return PricingProblem(self.top * shares, 1.0 / (1.0 + np.exp(8.0 * (shares - worth))))
