"""Problems whose mean rewards are linear in the features, but for a shift."""

from collections.abc import Iterator
from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.checks import matrix, number, sequence, vector, whole
from ensample.errors import InvalidArgument
from ensample.memory import aligned
from ensample.problems.noise import KernelNoise, Noise, is_kernel_noise
from ensample.problems.problem import (
    ContextualProblem,
    FiniteProblem,
    Problem,
    require_offered,
    unit_rows,
)
from ensample.types import ArrayLike, FloatArray, IntArray


class LinearProblem(Problem):
    """One set of arms for all rounds.

    `warmup` is observed before the first round, without choice or regret: arms by number, where
    K, K + 1, ... are the rows of `others`, which are never on offer; or features [n, d] that are
    no arms. `opening` are arms that the first rounds must play (their regret counts).

    >>> problem = LinearProblem(FiniteArms(np.eye(2)), theta=[0.2, 0.9], noise=0.1)
    >>> problem.mean(problem.arms.features[0]), problem.best_mean()
    (0.2, 0.9)
    """

    arguments: ClassVar[tuple[str, ...]] = ("arms", "theta", "noise", "warmup", "others", "opening")

    def __init__(
        self,
        arms: Arms,
        theta: ArrayLike,
        noise: Noise | float,
        *,
        warmup: ArrayLike = (),
        others: ArrayLike | None = None,
        opening: ArrayLike = (),
    ) -> None:
        super().__init__(arms, theta, noise)
        if isinstance(arms, ChangingArms):
            raise InvalidArgument("arms", arms, "a fixed set of arms (see ContextualLinearProblem)")
        count = len(arms) if isinstance(arms, FiniteArms) else 0
        if others is None and np.ndim(np.asarray(warmup, object)) == 2:
            others = matrix("warmup", warmup, arms.dim)
            warmup = np.arange(count, count + len(others))
        given = np.zeros((0, arms.dim)) if others is None else matrix("others", others, arms.dim)
        self.others = given
        self.warmup = arm_numbers("warmup", warmup, count + len(given))
        self.opening = arm_numbers("opening", opening, count)
        self._set_best_mean()

    def _set_best_mean(self) -> None:
        """Find the best mean. Raise on means that cannot have this noise."""
        self._best_mean = self.mean(self.arms.best(self.theta)[1])
        takes_every_mean = getattr(self.noise.check, "__func__", None) is Noise.check
        if self.arms.rows is None or not takes_every_mean:
            worst_mean = self.mean(self.arms.best(-self.theta)[1])
            warmup = self.means(self.warmup_features)
            self.noise.check(np.array([self._best_mean, worst_mean, *warmup]))

    def moved(self, theta: FloatArray) -> Self:
        """Return the same problem with another truth; all else was checked before."""
        other = copy(self)
        other.theta = theta.copy()
        other._set_best_mean()
        return other

    def __repr__(self) -> str:
        return f"LinearProblem({self.arms!r}, noise={self.noise!r})"

    def best_mean(self, offered: FloatArray | None = None) -> float:
        return self._best_mean

    def means(self, rows: FloatArray) -> FloatArray:
        """Return E[Y | x] of each row: [n]."""
        return np.asarray(rows @ self.theta)

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | ContextualProblem | None:
        if not (is_kernel_noise(self.noise) and self.answers_as(LinearProblem)):
            return None
        if isinstance(self.arms, FiniteArms):
            return self._finite(self.noise)
        return self._ball(self.noise)

    def _finite(self, noise: KernelNoise) -> FiniteProblem:
        rows, columns = self._rows(), self.arms.by_coordinate
        features, by_coordinate = aligned(rows.shape, columns.shape)
        features[:], by_coordinate[:] = rows, columns
        means, count = self.means(features), columns.shape[1]
        return FiniteProblem(
            features,
            by_coordinate,
            means,
            spreads=noise.spreads(means),
            noise=noise.kind,
            best=float(means[:count].max()),
            warmup=self.warmup,
            opening=self.opening,
            mean_path=np.zeros((0, count)),
            best_means=np.zeros(0),
            period=0,
        )

    def _ball(self, noise: KernelNoise, link: int = 0) -> ContextualProblem | None:
        if len(self.warmup) or not isinstance(self.arms, UnitBall):
            return None
        return ContextualProblem(self.theta, 0, noise.kind, *noise.range, link=link)

    def numbered_warmup(self) -> Iterator[tuple[int | None, FloatArray]]:
        """Yield each row of the warm-up, with its number if it is one of the arms."""
        count = len(self.arms) if isinstance(self.arms, FiniteArms) else 0
        for row, x in zip(self.warmup.tolist(), self.warmup_features, strict=True):
            yield (row if row < count else None), x

    @property
    def warmup_features(self) -> FloatArray:
        """The rows that the warm-up observes: [n, d]."""
        return self._rows()[self.warmup] if self.warmup.size else np.zeros((0, self.arms.dim))

    def _rows(self) -> FloatArray:
        """Return the features of the arms and of what else the warm-up observes: [K + W, d]."""
        if not isinstance(self.arms, FiniteArms):
            return self.others
        return np.vstack([self.arms.features, self.others]) if len(self.others) else self.arms.rows


class ShiftedProblem(LinearProblem):
    """Rewards with mean shift + x'theta: money or ratings that all sit near some number.

    They are not linear in the features, unless one of them is constant.

    >>> arms = FiniteArms([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = ShiftedProblem(arms, theta=[0.2, 0.9], noise=0.1, shift=20.0)
    >>> problem.mean(problem.arms.features[0]), problem.best_mean()
    (20.2, 20.9)
    """

    arguments = ("arms", "theta", "noise", "shift")

    def __init__(self, arms: Arms, theta: ArrayLike, noise: Noise | float, shift: float) -> None:
        self.shift = number("shift", shift)
        super().__init__(arms, theta, noise)

    def mean(self, x: FloatArray) -> float:
        return float(x @ self.theta) + self.shift

    def as_arrays(self, rounds: int = 0) -> FiniteProblem | None:
        finite = isinstance(self.arms, FiniteArms)
        if not (finite and is_kernel_noise(self.noise) and self.answers_as(ShiftedProblem)):
            return None
        arrays = self._finite(self.noise)
        means = arrays.means + self.shift
        spreads = self.noise.spreads(means)
        return arrays._replace(means=means, spreads=spreads, best=float(means.max()))


class ContextualLinearProblem(Problem):
    """Arms that change: each round offers `count` unit vectors in random directions."""

    arguments = ("count", "theta", "noise")

    def __init__(self, count: int, theta: ArrayLike, noise: Noise | float) -> None:
        super().__init__(ChangingArms(vector("theta", theta).size), theta, noise)
        self.count = whole("count", count, 1)
        norm = float(np.linalg.norm(self.theta))
        self.noise.check(np.array([-norm, norm]))

    def __repr__(self) -> str:
        size = f"{self.count} arms a round, dim={self.arms.dim}"
        return f"ContextualLinearProblem({size}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> FloatArray:
        return unit_rows(rng, self.count, self.arms.dim)

    def best_mean(self, offered: FloatArray | None = None) -> float:
        return float((require_offered(offered) @ self.theta).max())

    def as_arrays(self, rounds: int = 0) -> ContextualProblem | None:
        if not (is_kernel_noise(self.noise) and self.answers_as(ContextualLinearProblem)):
            return None
        return ContextualProblem(self.theta, self.count, self.noise.kind, *self.noise.range)


def arm_numbers(argument: str, arms: ArrayLike, count: int) -> IntArray:
    """Check arms given by number, each less than `count`: [n]."""
    given = sequence(argument, arms, "arms by number")
    if given and not count:
        raise InvalidArgument(argument, arms, "none: these arms have no numbers")
    return np.array([whole(argument, arm, 0, count - 1) for arm in given], np.int64)
