"""Environments with known truth, and their form as arrays for the compiled core."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, FiniteArms
from ensample.checks import instance, vector
from ensample.errors import InvalidArgument
from ensample.memory import aligned
from ensample.problems.noise import Noise, as_noise
from ensample.types import ArrayLike, FloatArray, IntArray

ANSWERS = ("at", "offer", "mean", "best_mean", "reward")  # methods that a run calls


class FiniteProblem(NamedTuple):
    """Problem with finitely many arms, as cpp/simulate/state.hpp reads it.

    Rows of `features` past K are observed in the warm-up only.
    """

    features: FloatArray  # [K + W, d]
    by_coordinate: FloatArray  # [d, K]
    means: FloatArray  # [K + W]
    spreads: FloatArray  # [K + W] standard deviation of the noise
    noise: int  # NORMAL_NOISE to SALE_NOISE of `problems.noise`
    best: float  # the largest mean on offer
    warmup: IntArray  # rows of `features` observed before the first round
    opening: IntArray  # arms that the first rounds must play
    mean_path: FloatArray  # means of a truth that moves, one row a period [P, K]
    best_means: FloatArray  # the largest of each [P]
    period: int  # rounds in a row of `mean_path`; 0 if the truth does not move


class ContextualProblem(NamedTuple):
    """Problem with arms that change every round, or the unit ball."""

    theta: FloatArray  # [d]
    offered: int  # arms a round, unit vectors in random directions; 0: the unit ball
    noise: int  # NORMAL_NOISE to SALE_NOISE of `problems.noise`
    low: float  # of the noise's spread, as in `spread_at`
    high: float
    link: int = 0  # of the means: 0 where they are linear, 1 (LOGISTIC_LINK) where they are chances
    constant: bool = False  # True if the last feature is 1, and the unit vectors are of the others


class Problem(ABC):
    """Rewards with mean x'theta and noise. Mean, best mean and noisy reward are separate methods.

    A problem whose `__init__` takes what its class lists as `arguments` can be written to a file.
    """

    linear: ClassVar[bool] = True  # False if no theorem about x'theta applies
    arguments: ClassVar[tuple[str, ...]] = ()  # of `__init__`, all kept as attributes

    def __init__(self, arms: Arms, theta: ArrayLike, noise: Noise | float) -> None:
        self.arms: Arms = instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        self.theta = vector("theta", theta, arms.dim)
        self.noise = as_noise(noise)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arms!r}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> FloatArray | None:
        """Draw the arms of a round, [K_t, d]; None if they are always the same."""
        return None

    @abstractmethod
    def best_mean(self, offered: FloatArray | None = None) -> float:
        """Return the largest mean on offer."""

    def mean(self, x: FloatArray) -> float:
        """Return E[Y | x]."""
        return float(x @ self.theta)

    def reward(self, x: FloatArray, rng: Generator) -> float:
        """Draw a noisy reward."""
        mean = self.mean(x)
        return self.noise.draw(mean, float(self.noise.spreads(np.array(mean))), rng)

    def at(self, t: int) -> "Problem":
        """Return the problem of round t, from 0: this one, unless the truth moves."""
        return self

    @property
    def moves(self) -> bool:
        """True if rounds have truths of their own, which no theorem is about."""
        return type(self).at is not Problem.at

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | ContextualProblem | None:
        """Return the problem as arrays for so many rounds.

        None if the compiled core does not know its arms, noise or rewards.
        """
        return None

    @property
    def parameters(self) -> dict[str, Any] | None:
        """The arguments that make this problem again; None if they are unknown."""
        owner = next(kind for kind in type(self).__mro__ if "__init__" in vars(kind))
        if "arguments" not in vars(owner):
            return None
        values = {name: getattr(self, name) for name in owner.arguments}  # type: ignore[attr-defined]
        return {name: value for name, value in values.items() if not is_empty_array(value)}

    def answers_as(self, kind: "type[Problem]") -> bool:
        """Return True if no method that a run calls has been overridden since `kind`."""
        return all(getattr(type(self), name) is getattr(kind, name) for name in ANSWERS)


class NonlinearProblem(Problem):
    """Rewards with mean f(x) and noise. It has no theta and no theorem; live policies play it."""

    linear: ClassVar[bool] = False

    def __init__(self, arms: Arms, noise: Noise | float) -> None:
        self.arms = instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        self.noise = as_noise(noise)

    @abstractmethod
    def means(self, rows: FloatArray) -> FloatArray:
        """Return f of each row of features [K, d]: [K]."""

    def mean(self, x: FloatArray) -> float:
        return float(self.means(x[None])[0])

    def best_mean(self, offered: FloatArray | None = None) -> float:
        fixed = self.arms.rows if isinstance(self.arms, FiniteArms) else None
        return float(self.means(require_offered(fixed if offered is None else offered)).max())


def is_empty_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and not value.size


def require_offered(offered: FloatArray | None) -> FloatArray:
    if offered is None:
        raise InvalidArgument("offered", offered, "the arms of a round")
    return offered


def with_constant(problem: FiniteProblem) -> FiniteProblem:
    """Add a last feature that is 1, and 0 in `by_coordinate`.

    It does not matter to the choice among arms.
    """
    d, arms = problem.by_coordinate.shape
    (by_coordinate,) = aligned((d + 1, arms))
    by_coordinate[:d] = problem.by_coordinate
    features = np.hstack([problem.features, np.ones((len(problem.features), 1))])
    return problem._replace(features=features, by_coordinate=by_coordinate)


def unit_rows(rng: Generator, count: int, dim: int) -> FloatArray:
    """Draw unit vectors in random directions: [count, dim]."""
    rows = rng.standard_normal((count, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows
