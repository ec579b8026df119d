"""The same problem in other units."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import number, whole
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.linear import LinearProblem
from ensample.problems.shifted import ShiftedProblem
from ensample.types import FloatArray


@dataclass(frozen=True)
class Rescaled(Family):
    """`rescaled`: `sphere` in other units. Features' units are spread evenly over `orders` powers of ten.

    Rewards, and their noise, are multiplied by `unit`; then `shift` is added to all of them.
    """

    name: ClassVar[str] = "rescaled"
    dim: int = 20
    arms: int = 100
    noise: float = 0.3
    unit: float = 1.0
    orders: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("arms", self.arms, 1)
        number("noise", self.noise, 0.0)
        number("unit", self.unit, 1e-50, 1e50)
        number("orders", self.orders, 0.0, 50.0)
        number("shift", self.shift)

    @property
    def stretches(self) -> FloatArray:
        """What features are multiplied by: [d]."""
        return 10.0 ** np.linspace(-self.orders / 2.0, self.orders / 2.0, self.dim)

    def draw(self, rng: Generator) -> LinearProblem:
        rows = unit_rows(rng, self.arms, self.dim)
        return self._problem(rows, unit_rows(rng, 1, self.dim)[0])

    def example(self) -> LinearProblem:
        """With the largest |theta|: all of it in the smallest feature."""
        return self._problem(
            unit_rows(np.random.default_rng(0), self.arms, self.dim), np.eye(self.dim)[0]
        )

    def _problem(self, rows: FloatArray, theta: FloatArray) -> LinearProblem:
        arms, theta = FiniteArms(rows * self.stretches), self.unit * theta / self.stretches
        noise = self.unit * self.noise
        return (
            ShiftedProblem(arms, theta, noise, self.shift)
            if self.shift
            else LinearProblem(arms, theta, noise)
        )
