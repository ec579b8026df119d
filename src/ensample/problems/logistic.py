"""Logistic problems and their families: rewards of 0 or 1, with mean 1 / (1 + exp(-x'theta))."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.checks import number, vector, whole
from ensample.errors import InvalidArgument
from ensample.models.glm import LOGISTIC_LINK, logistic_mean
from ensample.problems.families import rows_with_bias
from ensample.problems.family import Family, check_fields
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import BernoulliNoise
from ensample.problems.problem import (
    ContextualProblem,
    FiniteProblem,
    Problem,
    require_offered,
    unit_rows,
)
from ensample.types import ArrayLike, FloatArray

FEATURES = ("uniform", "sphere")
LARGEST_PREDICTOR = {"high": 1.5, "low": 4.0}  # by the variance of the best arm


class LogisticProblem(LinearProblem):
    """One set of arms for all rounds; `warmup`, `others` and `opening` as in `LinearProblem`.

    >>> problem = LogisticProblem(FiniteArms(np.eye(2)), theta=[0.0, 2.0])
    >>> problem.mean(problem.arms.features[0]), round(problem.best_mean(), 3)
    (0.5, 0.881)
    """

    arguments = ("arms", "theta", "warmup", "others", "opening")

    def __init__(
        self,
        arms: Arms,
        theta: ArrayLike,
        *,
        warmup: ArrayLike = (),
        others: ArrayLike | None = None,
        opening: ArrayLike = (),
    ) -> None:
        noise = BernoulliNoise()
        super().__init__(arms, theta, noise, warmup=warmup, others=others, opening=opening)

    def __repr__(self) -> str:
        return f"LogisticProblem({self.arms!r})"

    def mean(self, x: FloatArray) -> float:
        return logistic_mean(float(x @ self.theta))

    def means(self, rows: FloatArray) -> FloatArray:
        return np.array([self.mean(x) for x in rows])

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | ContextualProblem | None:
        if not self.answers_as(LogisticProblem):
            return None
        noise = BernoulliNoise()
        if isinstance(self.arms, FiniteArms):
            return self._finite(noise)
        return self._ball(noise, LOGISTIC_LINK)


class ContextualLogisticProblem(Problem):
    """Arms that change: each round offers `count` arms (a unit vector in a random direction, 1)."""

    arguments = ("count", "theta")

    def __init__(self, count: int, theta: ArrayLike) -> None:
        dim = vector("theta", theta).size
        if dim < 2:
            expected = "at least two numbers, the last for the feature that is always 1"
            raise InvalidArgument("theta", theta, expected)
        super().__init__(ChangingArms(dim), theta, BernoulliNoise())
        self.count = whole("count", count, 1)

    def __repr__(self) -> str:
        return f"ContextualLogisticProblem({self.count} arms a round, dim={self.arms.dim})"

    def offer(self, rng: Generator) -> FloatArray:
        directions = unit_rows(rng, self.count, self.arms.dim - 1)
        return np.hstack([directions, np.ones((self.count, 1))])

    def mean(self, x: FloatArray) -> float:
        return logistic_mean(float(x @ self.theta))

    def best_mean(self, offered: FloatArray | None = None) -> float:
        return logistic_mean(float((require_offered(offered) @ self.theta).max()))

    def as_arrays(self, rounds: int = 0) -> ContextualProblem | None:
        if not self.answers_as(ContextualLogisticProblem):
            return None
        low, high = BernoulliNoise().range
        kind = BernoulliNoise.kind
        return ContextualProblem(self.theta, self.count, kind, low, high, LOGISTIC_LINK, True)


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
        check_choice("features", self.features, FEATURES)
        whole("dim", self.dim, 2 if self.features == "sphere" else 1)
        whole("arms", self.arms, self.dim if self.features == "sphere" else 1)

    def draw(self, rng: Generator) -> LogisticProblem:
        d = self.dim
        if self.features == "uniform":
            rows = rng.uniform(-1.0, 1.0, (self.arms, d))
            return LogisticProblem(FiniteArms(rows), math.sqrt(3.0 / d) * rng.standard_normal(d))
        rows = rows_with_bias(rng, self.arms, d)
        return LogisticProblem(FiniteArms(rows), np.append(0.5 * unit_rows(rng, 1, d - 1)[0], 0.5))


def check_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidArgument(argument, value, f"one of {', '.join(map(repr, choices))}")


@dataclass(frozen=True)
class EvillInstances(Family):
    """`evill`: 120 arms with three ones among ten features, theta_i = (c1 / (c2 + i))^2.

    The first 120 rounds are random. c1 and c2 are such that linear predictors go from .1 to 1.5
    (`variance="high"`) or to 4 (`"low"`: the best arms hardly vary).

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss
    minimisation", AISTATS 2024.
    """

    name: ClassVar[str] = "evill"
    variance: str = "high"
    dim = 10
    arms = 120

    def __post_init__(self) -> None:
        check_choice("variance", self.variance, tuple(LARGEST_PREDICTOR))

    def draw(self, rng: Generator) -> LogisticProblem:
        rows = np.zeros((self.arms, self.dim))
        for row, ones in zip(rows, combinations(range(self.dim), 3), strict=True):
            row[list(ones)] = 1.0
        theta = decreasing_theta(LARGEST_PREDICTOR[self.variance])
        opening = rng.integers(self.arms, size=self.arms)
        return LogisticProblem(FiniteArms(rows), theta, opening=opening)


def decreasing_theta(top: float) -> FloatArray:
    """Find theta_i = (c1 / (c2 + i))^2, i = 1..10, by bisection.

    Its three largest entries sum to `top` and its three smallest to .1.
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

    An arm at the centre is clicked with probability `rate`: theta = (`norm` times a random
    direction, log(rate / (1 - rate))). At a rate of 2% and norm 3 the best of twenty arms in nine
    dimensions is clicked about six times as often as an arm at the centre.
    """

    name: ClassVar[str] = "clicks"
    dim: int = 10
    arms: int = 20
    rate: float = 0.02
    norm: float = 3.0

    def __post_init__(self) -> None:
        check_fields(self)
        whole("dim", self.dim, 2)
        number("rate", self.rate, 1e-9, 1.0 - 1e-9)
        number("norm", self.norm, 0.0)

    def draw(self, rng: Generator) -> ContextualLogisticProblem:
        slopes = self.norm * unit_rows(rng, 1, self.dim - 1)[0]
        constant = math.log(self.rate / (1.0 - self.rate))
        return ContextualLogisticProblem(self.arms, np.append(slopes, constant))
