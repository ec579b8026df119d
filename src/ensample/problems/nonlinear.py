"""Problems whose means are no linear function of the features."""

from abc import abstractmethod
from typing import ClassVar

from numpy.random import Generator

from ensample.arms import Arms, FiniteArms
from ensample.checks import instance
from ensample.errors import InvalidArgument
from ensample.problems.linear import Problem
from ensample.problems.noise import Noise, as_noise
from ensample.types import FloatArray


class NonlinearProblem(Problem):
    """Rewards with mean f(x) and noise. It has no theta, and no theorem here is about it: live policies play it."""

    linear: ClassVar[bool] = False

    def __init__(self, arms: Arms, noise: Noise | float) -> None:
        self.arms = instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        self.noise = as_noise(noise)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arms!r}, noise={self.noise!r})"

    @abstractmethod
    def means(self, rows: FloatArray) -> FloatArray:
        """f of each row of features [K, d]: [K]."""

    def mean(self, x: FloatArray) -> float:
        return float(self.means(x[None])[0])

    def offer(self, rng: Generator) -> FloatArray | None:
        return None

    def best_mean(self, offered: FloatArray | None = None) -> float:
        rows = self.arms.rows if offered is None and isinstance(self.arms, FiniteArms) else offered
        if rows is None:
            raise InvalidArgument("offered", offered, "the arms of a round")
        return float(self.means(rows).max())
