"""Linear problems: one set of arms, arms that change, and shifted rewards."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.checks import matrix, number, sequence, vector, whole
from ensample.errors import InvalidArgument
from ensample.memory import aligned
from ensample.problems.noise import KernelNoise, Noise, known_to_kernels
from ensample.problems.problem import ContextualProblem, FiniteProblem, Problem, answers_as
from ensample.types import ArrayLike, FloatArray, IntArray


class LinearProblem(Problem):
    """One set of arms for all rounds.

    `warmup` is observed before the first round (no choice, no regret): arms by number, where K, K +
    1, ... are the rows of `others`, which are never on offer; or features [n, d] that are no
    standing arms. `opening` are arms that the first rounds must play (their regret counts).

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
        warmup: ArrayLike = (),
        others: ArrayLike | None = None,
        opening: ArrayLike = (),
    ) -> None:
        super().__init__(arms, theta, noise)
        if isinstance(arms, ChangingArms):
            raise InvalidArgument("arms", arms, "a fixed set of arms (see ContextualLinearProblem)")
        standing = len(arms) if isinstance(arms, FiniteArms) else 0
        if others is None and np.ndim(np.asarray(warmup, object)) == 2:
            others = matrix("warmup", warmup, arms.dim)
            warmup = np.arange(standing, standing + len(others))
        self.others = (
            np.zeros((0, arms.dim)) if others is None else matrix("others", others, arms.dim)
        )
        self.warmup = numbered("warmup", warmup, standing + len(self.others))
        self.opening = numbered("opening", opening, standing)
        self._check_means()

    def _check_means(self) -> None:
        """Find the best mean, and raise if there are means that cannot have this noise."""
        self._best_mean = self.mean(self.arms.best(self.theta)[1])
        takes_all = getattr(self.noise.check, "__func__", None) is Noise.check
        if self.arms.rows is None or not takes_all:
            worst_mean = self.mean(self.arms.best(-self.theta)[1])
            means = [self._best_mean, worst_mean, *self.means(self.warmup_features)]
            self.noise.check(np.array(means))

    def moved(self, theta: FloatArray) -> Self:
        """Return the same problem with another truth, checking only that."""
        other = copy(self)
        other.theta = theta.copy()
        other._check_means()
        return other

    def __repr__(self) -> str:
        return f"LinearProblem({self.arms!r}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> None:
        return None

    def best_mean(self, offered: FloatArray | None = None) -> float:
        return self._best_mean

    def place(self, rounds: int = 0) -> FiniteProblem | ContextualProblem | None:
        if not (known_to_kernels(self.noise) and answers_as(self, LinearProblem)):
            return None
        if isinstance(self.arms, FiniteArms):
            return self._arrays(self.arms, self.noise)
        plain = not len(self.warmup) and isinstance(self.arms, UnitBall)
        return (
            ContextualProblem(self.theta, 0, self.noise.kind, *self.noise.range) if plain else None
        )

    def means(self, rows: FloatArray) -> FloatArray:
        """E[Y | x] of each row: [n]."""
        return np.asarray(rows @ self.theta)

    def _arrays(self, arms: FiniteArms, noise: KernelNoise) -> FiniteProblem:
        rows = self._rows()
        features, by_coordinate = aligned(rows.shape, arms.by_coordinate.shape)
        features[:], by_coordinate[:] = rows, arms.by_coordinate
        means = self.means(features)
        return FiniteProblem(
            features=features,
            by_coordinate=by_coordinate,
            means=means,
            spreads=noise.spreads(means),
            noise=noise.kind,
            best=float(means[: len(arms)].max()),
            warmup=self.warmup,
            opening=self.opening,
            mean_path=np.zeros((0, len(arms))),
            best_means=np.zeros(0),
            period=0,
        )

    @property
    def warmup_features(self) -> FloatArray:
        """What the warm-up sees: [n, d]."""
        return self._rows()[self.warmup] if self.warmup.size else np.zeros((0, self.arms.dim))

    def numbered_warmup(self) -> Iterator[tuple[int | None, FloatArray]]:
        """The warm-up, each with the number of the standing arm that it is, if it is one."""
        standing = len(self.arms) if isinstance(self.arms, FiniteArms) else 0
        for row, x in zip(self.warmup.tolist(), self.warmup_features, strict=True):
            yield (row if row < standing else None), x

    def _rows(self) -> FloatArray:
        """Features of the standing arms and of what else the warm-up sees: [K + W, d]."""
        if not isinstance(self.arms, FiniteArms):
            return self.others
        return (
            np.vstack([self.arms.features, self.others]) if len(self.others) else self.arms.features
        )

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self).__init__ is not LinearProblem.__init__:
            return None
        return {"arms": self.arms, "theta": self.theta, "noise": self.noise, **self._prescribed()}

    def _prescribed(self) -> dict[str, Any]:
        """What is observed without a choice, if anything is."""
        optional = {"warmup": self.warmup, "others": self.others, "opening": self.opening}
        return {name: values for name, values in optional.items() if values.size}


class ContextualLinearProblem(Problem):
    """Arms that change: each round offers `count` unit vectors in random directions."""

    def __init__(self, count: int, theta: ArrayLike, noise: Noise | float) -> None:
        super().__init__(ChangingArms(vector("theta", theta).size), theta, noise)
        self.count = whole("count", count, 1)
        norm = float(np.linalg.norm(self.theta))
        self.noise.check(np.array([-norm, norm]))

    def __repr__(self) -> str:
        sizes = f"{self.count} arms a round, dim={self.arms.dim}"
        return f"ContextualLinearProblem({sizes}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> FloatArray:
        features = rng.standard_normal((self.count, self.arms.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return features

    @property
    def parameters(self) -> dict[str, Any] | None:
        if type(self).__init__ is not ContextualLinearProblem.__init__:
            return None
        return {"count": self.count, "theta": self.theta, "noise": self.noise}

    def place(self, rounds: int = 0) -> ContextualProblem | None:
        if not (known_to_kernels(self.noise) and answers_as(self, ContextualLinearProblem)):
            return None
        return ContextualProblem(self.theta, self.count, self.noise.kind, *self.noise.range)

    def best_mean(self, offered: FloatArray | None = None) -> float:
        if offered is None:
            raise InvalidArgument("offered", offered, "the arms of a round")
        return float((offered @ self.theta).max())


def numbered(argument: str, arms: ArrayLike, count: int) -> IntArray:
    """Arms by number, each less than `count`: [n]."""
    given = sequence(argument, arms, "arms by number")
    if given and not count:
        raise InvalidArgument(argument, arms, "none: these arms have no numbers")
    return np.array([whole(argument, arm, 0, count - 1) for arm in given], np.int64)


class ShiftedProblem(LinearProblem):
    """Rewards with mean shift + x'theta: not linear in the features, unless one of them is
    constant.

    >>> problem = ShiftedProblem(FiniteArms(np.eye(2)), theta=[0.2, 0.9], noise=0.1, shift=20.0)
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
