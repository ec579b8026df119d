"""Logistic problems: rewards of 0 or 1, with mean 1 / (1 + exp(-x'theta))."""

from typing import Any

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.checks import vector, whole
from ensample.errors import InvalidArgument
from ensample.models.logistic import LOGISTIC_LINK, logistic_mean
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.problems.linear import LinearProblem, Problem, answers_as
from ensample.problems.noise import BernoulliNoise
from ensample.types import ArrayLike, FloatArray


class LogisticProblem(LinearProblem):
    """One set of arms for all rounds; `warmup`, `others` and `opening` as in `LinearProblem`.

    >>> problem = LogisticProblem(FiniteArms(np.eye(2)), theta=[0.0, 2.0])
    >>> problem.mean(problem.arms.features[0]), round(problem.best_mean(), 3)
    (0.5, 0.881)
    """

    def __init__(
        self,
        arms: Arms,
        theta: ArrayLike,
        *,
        warmup: ArrayLike = (),
        others: ArrayLike | None = None,
        opening: ArrayLike = (),
    ) -> None:
        super().__init__(
            arms, theta, BernoulliNoise(), warmup=warmup, others=others, opening=opening
        )

    def __repr__(self) -> str:
        return f"LogisticProblem({self.arms!r})"

    def mean(self, x: FloatArray) -> float:
        return logistic_mean(float(x @ self.theta))

    def means(self, rows: FloatArray) -> FloatArray:
        return np.array([self.mean(x) for x in rows])

    def place(self, rounds: int = 0) -> FiniteProblem | ContextualProblem | None:
        noise = BernoulliNoise()
        if not answers_as(self, LogisticProblem):
            return None
        if isinstance(self.arms, FiniteArms):
            return self._arrays(self.arms, noise)
        plain = not len(self.warmup) and isinstance(self.arms, UnitBall)
        return (
            ContextualProblem(self.theta, 0, noise.kind, *noise.range, link=LOGISTIC_LINK)
            if plain
            else None
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self).__init__ is not LogisticProblem.__init__:
            return None
        return {"arms": self.arms, "theta": self.theta, **self._prescribed()}


class ContextualLogisticProblem(Problem):
    """Arms that change: each round offers `count` of them, (a unit vector in a random direction, 1): the last feature is 1."""

    def __init__(self, count: int, theta: ArrayLike) -> None:
        dim = vector("theta", theta).size
        if dim < 2:
            raise InvalidArgument(
                "theta", theta, "at least two numbers, the last for the feature that is always 1"
            )
        super().__init__(ChangingArms(dim), theta, BernoulliNoise())
        self.count = whole("count", count, 1)

    def __repr__(self) -> str:
        return f"ContextualLogisticProblem({self.count} arms a round, dim={self.arms.dim})"

    def offer(self, rng: Generator) -> FloatArray:
        features = np.ones((self.count, self.arms.dim))
        directions = rng.standard_normal((self.count, self.arms.dim - 1))
        features[:, :-1] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return features

    def mean(self, x: FloatArray) -> float:
        return logistic_mean(float(x @ self.theta))

    def best_mean(self, offered: FloatArray | None = None) -> float:
        if offered is None:
            raise InvalidArgument("offered", offered, "the arms of a round")
        return logistic_mean(float((offered @ self.theta).max()))

    def place(self, rounds: int = 0) -> ContextualProblem | None:
        if not answers_as(self, ContextualLogisticProblem):
            return None
        noise = BernoulliNoise()
        return ContextualProblem(
            self.theta, self.count, noise.kind, *noise.range, link=LOGISTIC_LINK, constant=True
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self).__init__ is not ContextualLogisticProblem.__init__:
            return None
        return {"count": self.count, "theta": self.theta}
