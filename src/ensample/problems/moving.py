"""A linear problem whose parameter moves."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.checks import number, whole
from ensample.errors import InvalidArgument
from ensample.problems.arrays import FiniteProblem
from ensample.problems.linear import LinearProblem, Problem
from ensample.problems.noise import Noise, known_to_kernels
from ensample.types import ArrayLike, FloatArray

MOST_MEANS = 50_000_000  # that a run in kernels is laid out with: 400 MB


class MovingProblem(Problem):
    """One set of arms; after every `every` rounds theta takes a step on the sphere through it.

    theta <- |theta| u / |u| with u = theta / |theta| + step g / sqrt(d), g ~ N(0, I): about `step` as an angle. With
    `step=None` u = g: the new theta has nothing to do with the old. The path is a function of `seed`. Regret is against the
    best arm of the moment.

    >>> problem = MovingProblem(FiniteArms(np.eye(2)), [0.6, 0.8], 0.1, every=100, step=None, seed=3)
    >>> problem.at(99).best_mean(), bool(problem.at(100).best_mean() == problem.at(199).best_mean() != 0.8)
    (0.8, True)
    """

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
        """The first `count` values of theta, at least: [P, d]."""
        known = self._path
        if (
            len(known) < count
        ):  # what is there already comes out the same, also where threads do this together
            rng, d, size = (
                np.random.default_rng(self.seed),
                self.arms.dim,
                float(np.linalg.norm(self.theta)),
            )
            known = np.empty(
                (max(count, 2 * len(known)), d)
            )  # all that a kernel asks for; or, round by round, twice as many
            known[0] = self.theta
            drawn = rng.standard_normal((len(known) - 1, d))
            steps = drawn if self.step is None else size * self.step / d**0.5 * drawn
            u = self.theta
            for k, step in enumerate(steps, 1):
                u = step if self.step is None else u + step
                length = math.sqrt(np.add.reduce(u * u))
                if length > 0.0:
                    u = size / length * u
                known[k] = u
            self._path = known
        return known

    def at(self, t: int) -> LinearProblem:
        epoch = t // self.every
        return self._first.moved(self.path(epoch + 1)[epoch])

    def offer(self, rng: Generator) -> None:
        return None

    def best_mean(self, offered: FloatArray | None = None) -> float:
        """In the first round."""
        return self._first.best_mean()

    def place(self, rounds: int = 0) -> FiniteProblem | None:
        """Kernels know noises that are the same everywhere, and runs that are not too long to be laid out."""
        count = -(-rounds // self.every)
        plain = type(self) is MovingProblem and known_to_kernels(self.noise)
        if not (
            plain and isinstance(self.arms, FiniteArms) and count * len(self.arms) <= MOST_MEANS
        ):
            return None
        if self.noise.range[0] != self.noise.range[1]:  # type: ignore[attr-defined]
            return None
        first = self._first.place()
        assert isinstance(first, FiniteProblem)
        means = np.einsum("pi,ki->pk", self.path(count)[:count], self.arms.features)
        self.noise.check(means)
        return first._replace(
            mean_path=means, best_means=means.max(axis=1, initial=-np.inf), period=self.every
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self) is not MovingProblem:
            return None
        given = {"arms": self.arms, "theta": self.theta, "noise": self.noise}
        return given | {"every": self.every, "step": self.step, "seed": self.seed}
