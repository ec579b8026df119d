"""Linear problems whose parameter moves."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.checks import number, whole
from ensample.errors import InvalidArgument
from ensample.problems.family import Family, check_fields
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import Noise, is_kernel_noise
from ensample.problems.problem import FiniteProblem, Problem, unit_rows
from ensample.types import ArrayLike, FloatArray

MAX_MEANS = 50_000_000  # in the arrays of a run: 400 MB


class MovingProblem(Problem):
    """One set of arms; after every `every` rounds theta takes a step on the sphere through it.

    theta <- |theta| u / |u| with u = theta / |theta| + step g / sqrt(d), g ~ N(0, I): about `step`
    as an angle. With `step=None` u = g: the new theta has nothing to do with the old. The path is a
    function of `seed`. Regret is against the best arm of the moment.

    >>> arms = FiniteArms(np.eye(2))
    >>> problem = MovingProblem(arms, [0.6, 0.8], 0.1, every=100, step=None, seed=3)
    >>> problem.at(99).best_mean(), problem.at(100).best_mean() == problem.at(199).best_mean()
    (0.8, True)
    """

    arguments = ("arms", "theta", "noise", "every", "step", "seed")

    def __init__(
        self,
        arms: Arms,
        theta: ArrayLike,
        noise: Noise | float,
        *,
        every: int = 1,
        step: float | None,
        seed: int = 0,
    ) -> None:
        super().__init__(arms, theta, noise)
        if isinstance(arms, ChangingArms):
            raise InvalidArgument("arms", arms, "a fixed set of arms")
        self.every = whole("every", every, 1)
        self.step = None if step is None else number("step", step, 0.0)
        self.seed = whole("seed", seed, 0)
        self._path = self.theta[None]

    @cached_property
    def _first(self) -> LinearProblem:
        return LinearProblem(self.arms, self.theta, self.noise)

    def __repr__(self) -> str:
        moves = "redrawn" if self.step is None else f"a step of {self.step:g}"
        return f"MovingProblem({self.arms!r}, noise={self.noise!r}, {moves} every {self.every})"

    def path(self, count: int) -> FloatArray:
        """Return at least the first `count` values of theta: [P, d].

        A longer path begins with the same values, also if several threads draw it at once.
        """
        if len(self._path) < count:
            self._path = self._drawn_path(max(count, 2 * len(self._path)))
        return self._path

    def _drawn_path(self, count: int) -> FloatArray:
        d, size = self.arms.dim, float(np.linalg.norm(self.theta))
        steps = np.random.default_rng(self.seed).standard_normal((count - 1, d))
        if self.step is not None:
            steps *= size * self.step / d**0.5
        path = np.empty((count, d))
        path[0] = u = self.theta
        for k, step in enumerate(steps, 1):
            u = step if self.step is None else u + step
            length = math.sqrt(np.add.reduce(u * u))
            if length > 0.0:
                u = size / length * u
            path[k] = u
        return path

    def at(self, t: int) -> LinearProblem:
        period = t // self.every
        return self._first.moved(self.path(period + 1)[period])

    def best_mean(self, offered: FloatArray | None = None) -> float:
        """Return the largest mean of the first round."""
        return self._first.best_mean()

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | None:
        """Return the arrays of noise that is the same everywhere, if the path of means fits."""
        count = -(-rounds // self.every)
        if type(self) is not MovingProblem or not isinstance(self.arms, FiniteArms):
            return None
        if not is_kernel_noise(self.noise) or self.noise.range[0] != self.noise.range[1]:
            return None
        if count * len(self.arms) > MAX_MEANS:
            return None
        first = self._first.as_arrays()
        assert isinstance(first, FiniteProblem)
        means = np.einsum("pi,ki->pk", self.path(count)[:count], self.arms.features)
        self.noise.check(means)
        best = means.max(axis=1, initial=-np.inf)
        return first._replace(mean_path=means, best_means=best, period=self.every)


@dataclass(frozen=True)
class Drift(Family):
    """`drift`: as `sphere`, but theta walks on it at random, an angle of about `step` a round."""

    name: ClassVar[str] = "drift"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    step: float = 0.03

    def __post_init__(self) -> None:
        check_fields(self)
        number("step", self.step, 0.0)

    def draw(self, rng: Generator) -> MovingProblem:
        arms = FiniteArms(unit_rows(rng, self.arms, self.dim))
        theta, seed = unit_rows(rng, 1, self.dim)[0], int(rng.integers(1 << 62))
        return MovingProblem(arms, theta, self.noise, step=self.step, seed=seed)


@dataclass(frozen=True)
class Switch(Family):
    """`switch`: as `sphere`, but after every `every` rounds theta is drawn anew."""

    name: ClassVar[str] = "switch"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    every: int = 1000

    def __post_init__(self) -> None:
        check_fields(self)
        whole("every", self.every, 1)

    def draw(self, rng: Generator) -> MovingProblem:
        arms = FiniteArms(unit_rows(rng, self.arms, self.dim))
        theta, seed = unit_rows(rng, 1, self.dim)[0], int(rng.integers(1 << 62))
        return MovingProblem(arms, theta, self.noise, every=self.every, step=None, seed=seed)
