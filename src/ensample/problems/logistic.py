"""Logistic problems, with rewards of 0 or 1, and their families."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.checks import number, vector, whole
from ensample.errors import InvalidArgument
from ensample.models.glm import LOGISTIC_LINK, logistic_mean
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import BernoulliNoise
from ensample.problems.problem import ContextualProblem, FiniteProblem, Problem, answers_as
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
    """Arms that change: each round offers `count` rows (a unit vector in a random direction, 1)."""

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


FEATURES = ("uniform", "sphere")
LARGEST_PREDICTORS = {"high": 1.5, "low": 4.0}  # by the variance of the best arm


@dataclass(frozen=True)
class LogisticBandit(Family):
    """`logistic`: clicks with probability 1 / (1 + exp(-x'theta)).

    `features="uniform"`: x ~ U[-1, 1]^d and theta ~ N(0, 3/d I). `"sphere"`: d - 1 features on the
    unit sphere and a constant 1, the first d arms basis vectors with the constant (the last of them
    the constant alone), theta = (a vector of norm .5, .5).

    Reference: B. Kveton et al., "Randomized Exploration in Generalized Linear Bandits", AISTATS
    2020 (its 3/d^2 is a slip of the print); the sphere as in the released experiments of S. Vaswani
    et al., "Old Dog Learns New Tricks: Randomized UCB for Bandit Problems", AISTATS 2020.
    """

    name: ClassVar[str] = "logistic"
    dim: int = 10
    arms: int = 100
    features: str = "uniform"

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise InvalidArgument(
                "features", self.features, f"one of {', '.join(map(repr, FEATURES))}"
            )
        whole("dim", self.dim, 2 if self.features == "sphere" else 1)
        whole("arms", self.arms, self.dim if self.features == "sphere" else 1)

    def draw(self, rng: Generator) -> LogisticProblem:
        d = self.dim
        if self.features == "uniform":
            rows = rng.uniform(-1.0, 1.0, (self.arms, d))
            return LogisticProblem(FiniteArms(rows), math.sqrt(3.0 / d) * rng.standard_normal(d))
        rows = np.ones((self.arms, d))
        rows[:, : d - 1] = unit_rows(rng, self.arms, d - 1)
        rows[:d, : d - 1] = np.eye(d)[:, : d - 1]
        return LogisticProblem(FiniteArms(rows), np.append(0.5 * unit_rows(rng, 1, d - 1)[0], 0.5))


@dataclass(frozen=True)
class EvillInstances(Family):
    """`evill`: 120 arms with three ones among ten features, theta_i = (c1 / (c2 + i))^2.

    c1 and c2 are such that linear predictors go from .1 to 1.5 (`variance="high"`) or to 4
    (`"low"`: the best arms hardly vary). The first 120 rounds are random.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss
    minimisation", AISTATS 2024.
    """

    name: ClassVar[str] = "evill"
    variance: str = "high"
    dim = 10
    arms = 120

    def __post_init__(self) -> None:
        if self.variance not in LARGEST_PREDICTORS:
            raise InvalidArgument(
                "variance", self.variance, f"one of {', '.join(map(repr, LARGEST_PREDICTORS))}"
            )

    def draw(self, rng: Generator) -> LogisticProblem:
        rows = np.zeros((self.arms, self.dim))
        for row, ones in zip(rows, combinations(range(self.dim), 3), strict=True):
            row[list(ones)] = 1.0
        opening = rng.integers(self.arms, size=self.arms)
        return LogisticProblem(
            FiniteArms(rows), falling(LARGEST_PREDICTORS[self.variance]), opening=opening
        )


def falling(top: float) -> FloatArray:
    """theta_i = (c1 / (c2 + i))^2, i = 1..10, by bisection.

    The three largest sum to `top` and the three smallest to .1.
    """
    low, high = -1.0, 1e6  # c2: the ratio of the two sums falls with it
    for _ in range(200):
        c2 = 0.5 * (low + high)
        shape = 1.0 / (c2 + np.arange(1, 11)) ** 2
        low, high = (c2, high) if shape[:3].sum() / shape[-3:].sum() > top / 0.1 else (low, c2)
    return np.asarray(shape * top / shape[:3].sum())


@dataclass(frozen=True)
class Clicks(Family):
    """`clicks`: each round offers new arms (a random direction, 1).

    An arm at the centre is clicked with probability `rate`. theta = (`norm` times a random
    direction, log(rate / (1 - rate))): at a rate of 2% and norm 3 the best of twenty arms in nine
    dimensions is clicked about six times as often as an arm at the centre.
    """

    name: ClassVar[str] = "clicks"
    dim: int = 10
    arms: int = 20
    rate: float = 0.02
    norm: float = 3.0

    def __post_init__(self) -> None:
        self.check_fields(dim=2)
        number("rate", self.rate, 1e-9, 1.0 - 1e-9)
        number("norm", self.norm, 0.0)

    def draw(self, rng: Generator) -> ContextualLogisticProblem:
        slopes = self.norm * unit_rows(rng, 1, self.dim - 1)[0]
        return ContextualLogisticProblem(
            self.arms, np.append(slopes, math.log(self.rate / (1.0 - self.rate)))
        )
