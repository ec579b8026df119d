"""Linear problems: environments with known truth."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.checks import instance, matrix, sequence, vector, whole
from ensample.errors import InvalidArgument
from ensample.kernels.scene import Scene
from ensample.kernels.track import aligned
from ensample.kernels.world import World
from ensample.problems.noise import KernelNoise, Noise, as_noise, known_to_kernels
from ensample.theory import Setting
from ensample.types import ArrayLike, FloatArray, IntArray

__all__ = ["ContextualLinearProblem", "LinearProblem", "Problem"]


class Problem(ABC):
    """Rewards with mean x'theta and noise. Mean, best mean and noisy reward are separate questions."""

    def __init__(self, arms: Arms, theta: ArrayLike, noise: Noise | float) -> None:
        self.arms: Arms = instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        self.theta = vector("theta", theta, arms.dim)
        self.noise = as_noise(noise)

    @abstractmethod
    def offer(self, rng: Generator) -> FloatArray | None:
        """The arms of a round, [K_t, d]; None where they are always the same."""

    @abstractmethod
    def best_mean(self, offered: FloatArray | None = None) -> float:
        """The largest mean on offer."""

    def mean(self, x: FloatArray) -> float:
        """E[Y | x]."""
        return float(x @ self.theta)

    def reward(self, x: FloatArray, rng: Generator) -> float:
        """A noisy reward."""
        mean = self.mean(x)
        return self.noise.draw(mean, float(self.noise.spreads(np.array(mean))), rng)

    def place(self) -> World | Scene | None:
        """The problem as kernels see it; None where they do not know its arms, its noise or its answers."""
        return None

    def setting(self, horizon: int, regularization: float = 1.0, delta: float = 0.05) -> Setting:
        """The constants of this problem, for the theorems."""
        arms = len(self.arms) if isinstance(self.arms, FiniteArms) else None
        norm = float(np.linalg.norm(self.theta))
        return Setting(self.arms.dim, arms, horizon, self.noise.subgaussian, norm, regularization, delta)


class LinearProblem(Problem):
    """One set of arms for all rounds.

    `warmup` are features observed before the first round (no choice, no regret); `opening` are arms that the first rounds must
    play (their regret counts).

    >>> problem = LinearProblem(FiniteArms(np.eye(2)), theta=[0.2, 0.9], noise=0.1)
    >>> problem.mean(problem.arms.features[0]), problem.best_mean()
    (0.2, 0.9)
    """

    def __init__(
        self,
        arms: Arms,
        theta: ArrayLike,
        noise: Noise | float,
        *,
        warmup: ArrayLike | None = None,
        opening: ArrayLike = (),
    ) -> None:
        super().__init__(arms, theta, noise)
        if isinstance(arms, ChangingArms):
            raise InvalidArgument("arms", arms, "a fixed set of arms (see ContextualLinearProblem)")
        self.warmup = np.zeros((0, arms.dim)) if warmup is None else matrix("warmup", warmup, arms.dim)
        forced = sequence("opening", opening, "arms by number")
        if forced and not isinstance(arms, FiniteArms):
            raise InvalidArgument("opening", opening, f"no arms by number on {arms!r}")
        last = len(arms) - 1 if isinstance(arms, FiniteArms) else 0
        self.opening = np.array([whole("opening", arm, 0, last) for arm in forced], np.int64)
        self._best_mean = self.mean(arms.best(self.theta)[1])
        worst_mean = self.mean(arms.best(-self.theta)[1])
        self.noise.check(np.array([self._best_mean, worst_mean, *(self.warmup @ self.theta)]))

    def __repr__(self) -> str:
        return f"LinearProblem({self.arms!r}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> None:
        return None

    def best_mean(self, offered: FloatArray | None = None) -> float:
        return self._best_mean

    def place(self) -> World | Scene | None:
        if not (known_to_kernels(self.noise) and answers_as(self, LinearProblem)):
            return None
        if isinstance(self.arms, FiniteArms):
            return self._world(self.arms, self.noise)
        plain = not len(self.warmup) and isinstance(self.arms, UnitBall)
        return Scene(self.theta, 0, self.noise.kind, *self.noise.range) if plain else None

    def _world(self, arms: FiniteArms, noise: KernelNoise) -> World:
        features, warmup = self._rows(arms)
        means = features @ self.theta
        (by_coordinate,) = aligned(arms.by_coordinate.shape)
        by_coordinate[:] = arms.by_coordinate
        return World(
            features=features,
            by_coordinate=by_coordinate,
            means=means,
            spreads=noise.spreads(means),
            noise=noise.kind,
            best=float(means[: len(arms)].max()),
            warmup=warmup,
            opening=self.opening,
        )

    def numbered_warmup(self) -> Iterator[tuple[int | None, FloatArray]]:
        """The warm-up, each with the number of the standing arm that it is, if it is one."""
        arms = self.arms
        if not isinstance(arms, FiniteArms):
            yield from ((None, x) for x in self.warmup)
            return
        for row, x in zip(self._rows(arms)[1].tolist(), self.warmup, strict=True):
            yield (row if row < len(arms) else None), x

    def _rows(self, arms: FiniteArms) -> tuple[FloatArray, IntArray]:
        """Features of the arms and of what else the warm-up sees, and the warm-up as rows of them: [K + W, d], [n]."""
        if not len(self.warmup):
            return arms.features.copy(), np.zeros(0, np.int64)
        numbers = {x.tobytes(): k for k, x in reversed(list(enumerate(arms.features)))}  # the lowest of equal arms
        rows: list[int] = []
        extra: list[FloatArray] = []
        for x in self.warmup:
            if x.tobytes() not in numbers:
                numbers[x.tobytes()] = len(arms) + len(extra)
                extra.append(x)
            rows.append(numbers[x.tobytes()])
        return np.vstack([arms.features, *extra]), np.array(rows, np.int64)


class ContextualLinearProblem(Problem):
    """Arms that change: each round offers `count` unit vectors in random directions."""

    def __init__(self, count: int, theta: ArrayLike, noise: Noise | float) -> None:
        super().__init__(ChangingArms(vector("theta", theta).size), theta, noise)
        self.count = whole("count", count, 1)
        norm = float(np.linalg.norm(self.theta))
        self.noise.check(np.array([-norm, norm]))

    def __repr__(self) -> str:
        return f"ContextualLinearProblem({self.count} arms a round, dim={self.arms.dim}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> FloatArray:
        features = rng.standard_normal((self.count, self.arms.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return features

    def place(self) -> Scene | None:
        if not (known_to_kernels(self.noise) and answers_as(self, ContextualLinearProblem)):
            return None
        return Scene(self.theta, self.count, self.noise.kind, *self.noise.range)

    def best_mean(self, offered: FloatArray | None = None) -> float:
        if offered is None:
            raise InvalidArgument("offered", offered, "the arms of a round")
        return float((offered @ self.theta).max())


def answers_as(problem: Problem, kind: type[Problem]) -> bool:
    """Whether it leaves all that a run asks of it to `kind`: a subclass with answers of its own is another problem."""
    asked = ("offer", "mean", "best_mean", "reward")
    return all(getattr(type(problem), question) is getattr(kind, question) for question in asked)
