"""Linear problems whose parameter moves: by drifting, or by jumps."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.checks import number, whole
from ensample.errors import InvalidArgument
from ensample.problems.families import unit_rows
from ensample.problems.family import Family
from ensample.problems.linear import LinearProblem
from ensample.problems.noise import Noise, known_to_kernels
from ensample.problems.problem import FiniteProblem, Problem
from ensample.types import ArrayLike, FloatArray

MOST_MEANS = 50_000_000  # of a simulated run: 400 MB


class MovingProblem(Problem):
    """One set of arms; after every `every` rounds theta takes a step on the sphere through it.

    theta <- |theta| u / |u| with u = theta / |theta| + step g / sqrt(d), g ~ N(0, I): about `step`
    as an angle. With `step=None` u = g: the new theta has nothing to do with the old. The path is a
    function of `seed`. Regret is against the best arm of the moment.

    >>> problem = MovingProblem(FiniteArms(np.eye(2)), [0.6, 0.8], 0.1, every=100, step=None, seed=3)
    >>> means = [problem.at(t).best_mean() for t in (99, 100, 199)]
    >>> means[0], bool(means[1] == means[2] != 0.8)
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
        if len(known) < count:  # threads that do this together compute the same
            rng, d = np.random.default_rng(self.seed), self.arms.dim
            size = float(np.linalg.norm(self.theta))
            # All that a kernel asks for; round by round, twice as many as before.
            known = np.empty((max(count, 2 * len(known)), d))
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
        """Return the largest mean of the first round."""
        return self._first.best_mean()

    def place(self, rounds: int = 0) -> FiniteProblem | None:
        """Return arrays if the noise is the same everywhere and the means of all periods fit."""
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


@dataclass(frozen=True)
class Drift(Family):
    """`drift`: as `sphere`, but theta is a random walk on it, of an angle of about `step` a
    round.
    """

    name: ClassVar[str] = "drift"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    step: float = 0.03

    def __post_init__(self) -> None:
        self.check_fields()
        number("step", self.step, 0.0)

    def draw(self, rng: Generator) -> MovingProblem:
        arms, theta = unit_rows(rng, self.arms, self.dim), unit_rows(rng, 1, self.dim)[0]
        seed = int(rng.integers(1 << 62))
        return MovingProblem(FiniteArms(arms), theta, self.noise, step=self.step, seed=seed)


@dataclass(frozen=True)
class Switch(Family):
    """`switch`: as `sphere`, but after every `every` rounds theta is drawn anew."""

    name: ClassVar[str] = "switch"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.3
    every: int = 1000

    def __post_init__(self) -> None:
        self.check_fields()
        whole("every", self.every, 1)

    def draw(self, rng: Generator) -> MovingProblem:
        arms, theta = (
            FiniteArms(unit_rows(rng, self.arms, self.dim)),
            unit_rows(rng, 1, self.dim)[0],
        )
        options = {"every": self.every, "seed": int(rng.integers(1 << 62))}
        return MovingProblem(arms, theta, self.noise, step=None, **options)
