"""What to ask for: a price, which a customer pays or not."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import number, vector, whole
from ensample.problems.family import Family
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import SALE_NOISE, KernelNoise
from ensample.problems.problem import FiniteProblem, answers_as
from ensample.types import ArrayLike, FloatArray


@dataclass(frozen=True)
class SaleNoise(KernelNoise):
    """The noise of sales: a price is paid or it is not. See `PricingProblem`."""

    price: float  # the largest
    kind = SALE_NOISE

    @property
    def subgaussian(self) -> float:
        return self.price / 2.0

    @property
    def range(self) -> tuple[float, float]:
        return self.subgaussian, self.subgaussian


class PricingProblem(LinearProblem):
    """Each arm, a basis vector, is a price, paid with a probability of its own: reward it or 0.

    >>> problem = PricingProblem(prices=[1.0, 10.0], demand=[0.9, 0.2])
    >>> problem.best_mean(), problem.spreads.tolist()
    (2.0, [0.3, 4.0])
    """

    def __init__(self, prices: ArrayLike, demand: ArrayLike) -> None:
        self.prices = vector("prices", prices)
        self.demand = vector("demand", demand, self.prices.size)
        for price, chance in zip(self.prices, self.demand, strict=True):
            number("prices", price, 1e-50)
            number("demand", chance, 0.0, 1.0)
        self.spreads = self.prices * np.sqrt(self.demand * (1.0 - self.demand))
        largest = float(self.prices.max())
        super().__init__(
            FiniteArms(np.eye(self.prices.size)), self.prices * self.demand, SaleNoise(largest)
        )

    def reward(self, x: FloatArray, rng: Generator) -> float:
        return self.noise.draw(self.mean(x), float(x @ self.spreads), rng)

    def place(self, rounds: int = 0) -> FiniteProblem | None:
        if not (answers_as(self, PricingProblem) and isinstance(self.arms, FiniteArms)):
            return None
        return self._arrays(self.arms, SaleNoise(float(self.prices.max())))._replace(
            spreads=self.spreads
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        return (
            {"prices": self.prices, "demand": self.demand}
            if type(self).__init__ is PricingProblem.__init__
            else None
        )


@dataclass(frozen=True)
class Pricing(Family):
    """`pricing`: `arms` prices up to `top`, each a basis vector.

    A price p is paid with probability 1 / (1 + exp(8 (p - w) / top)), with w uniform on [0.2, 0.8]
    top, drawn for each run.
    """

    name: ClassVar[str] = "pricing"
    arms: int = 20
    top: float = 100.0

    def __post_init__(self) -> None:
        whole("arms", self.arms, 1)
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
