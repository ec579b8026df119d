"""Rewards that all sit near some number: money, ratings."""

from typing import Any

from ensample.arms import Arms, FiniteArms
from ensample.checks import number
from ensample.problems.arrays import FiniteProblem
from ensample.problems.linear import LinearProblem, answers_as
from ensample.problems.noise import Noise, known_to_kernels
from ensample.types import ArrayLike, FloatArray


class ShiftedProblem(LinearProblem):
    """Rewards with mean shift + x'theta: not linear in the features, unless one of them is constant.

    >>> problem = ShiftedProblem(FiniteArms([[1.0, 0.0], [0.0, 1.0]]), theta=[0.2, 0.9], noise=0.1, shift=20.0)
    >>> problem.mean(problem.arms.features[0]), problem.best_mean()
    (20.2, 20.9)
    """

    def __init__(self, arms: Arms, theta: ArrayLike, noise: Noise | float, shift: float) -> None:
        self.shift = number("shift", shift)
        super().__init__(arms, theta, noise)

    def mean(self, x: FloatArray) -> float:
        return float(x @ self.theta) + self.shift

    def place(self, rounds: int = 0) -> FiniteProblem | None:
        if not (
            known_to_kernels(self.noise)
            and answers_as(self, ShiftedProblem)
            and isinstance(self.arms, FiniteArms)
        ):
            return None
        arrays = self._arrays(self.arms, self.noise)
        means = arrays.means + self.shift
        return arrays._replace(
            means=means, spreads=self.noise.spreads(means), best=float(means.max())
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self).__init__ is not ShiftedProblem.__init__:
            return None
        return {"arms": self.arms, "theta": self.theta, "noise": self.noise, "shift": self.shift}
