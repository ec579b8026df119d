"""Problems whose parameter wanders."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import number, whole
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.moving import MovingProblem
from ensample.problems.noise import Noise, as_noise


@dataclass(frozen=True)
class Drift(Family):
    """`drift`: as `sphere`, but theta is a random walk on the sphere, of about `step` (as an angle) each round."""

    name: ClassVar[str] = "drift"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    step: float = 0.03

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("arms", self.arms, 1)
        as_noise(self.noise)
        number("step", self.step, 0.0)

    def draw(self, rng: Generator) -> MovingProblem:
        arms, theta = (
            FiniteArms(unit_rows(rng, self.arms, self.dim)),
            unit_rows(rng, 1, self.dim)[0],
        )
        return MovingProblem(
            arms, theta, self.noise, step=self.step, seed=int(rng.integers(1 << 62))
        )
