"""Problems whose parameter is another one now and then."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import whole
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.moving import MovingProblem
from ensample.problems.noise import Noise, as_noise


@dataclass(frozen=True)
class Switch(Family):
    """`switch`: as `sphere`, but after every `every` rounds theta is drawn anew."""

    name: ClassVar[str] = "switch"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    every: int = 1000

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("arms", self.arms, 1)
        as_noise(self.noise)
        whole("every", self.every, 1)

    def draw(self, rng: Generator) -> MovingProblem:
        arms, theta = (
            FiniteArms(unit_rows(rng, self.arms, self.dim)),
            unit_rows(rng, 1, self.dim)[0],
        )
        return MovingProblem(
            arms, theta, self.noise, every=self.every, step=None, seed=int(rng.integers(1 << 62))
        )
