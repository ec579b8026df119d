"""Named families of linear problems."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms, UnitBall
from ensample.checks import number, whole
from ensample.problems.family import Family, check_fields
from ensample.problems.linear import ContextualLinearProblem, LinearProblem, ShiftedProblem
from ensample.problems.noise import BernoulliNoise, Noise
from ensample.problems.problem import unit_rows
from ensample.types import FloatArray


@dataclass(frozen=True)
class RandomSphere(Family):
    """`sphere`: arms and parameter are unit vectors in random directions."""

    name: ClassVar[str] = "sphere"
    dim: int = 20
    arms: int = 100
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        check_fields(self)

    def draw(self, rng: Generator) -> LinearProblem:
        arms = FiniteArms(unit_rows(rng, self.arms, self.dim))
        return LinearProblem(arms, unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class LinReBoot(Family):
    """`linreboot`: arms ~ U(0, 1)^d and theta ~ U(-.5, .5)^d, normalised; noise variance 0.1.

    Each arm is played once first.

    Reference: the "SLB" instances of Wu, Wang & Li, "Residual bootstrap exploration for stochastic
    linear bandit", UAI 2022.
    """

    name: ClassVar[str] = "linreboot"
    dim: int = 10
    arms: int = 100
    noise: float | Noise = 0.1**0.5

    def __post_init__(self) -> None:
        check_fields(self)

    def draw(self, rng: Generator) -> LinearProblem:
        features = rng.random((self.arms, self.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.random(self.dim) - 0.5
        theta /= np.linalg.norm(theta)
        return LinearProblem(FiniteArms(features), theta, self.noise, opening=np.arange(self.arms))


@dataclass(frozen=True)
class Kveton(Family):
    """`kveton`: d - 1 features on the unit sphere and a bias, Bernoulli rewards.

    The first d arms are basis vectors with bias (the last of them the bias alone). Features are
    divided by sqrt 2 and theta multiplied by it, so that norms are at most 1.

    Reference: Kveton et al., "Perturbed-history exploration in stochastic linear bandits", UAI
    2020.
    """

    name: ClassVar[str] = "kveton"
    dim: int = 10
    arms: int = 100

    def __post_init__(self) -> None:
        whole("dim", self.dim, 2)
        whole("arms", self.arms, self.dim)

    def draw(self, rng: Generator) -> LinearProblem:
        features = rows_with_bias(rng, self.arms, self.dim)
        theta = np.append(0.5 * unit_rows(rng, 1, self.dim - 1)[0], 0.5)
        return LinearProblem(FiniteArms(features / 2**0.5), theta * 2**0.5, BernoulliNoise())


def rows_with_bias(rng: Generator, count: int, dim: int) -> FloatArray:
    """Draw (a unit vector, 1) for each row, the first `dim` of them basis vectors and the bias."""
    rows = np.ones((count, dim))
    rows[:, : dim - 1] = unit_rows(rng, count, dim - 1)
    rows[:dim, : dim - 1] = np.eye(dim)[:, : dim - 1]
    return rows


@dataclass(frozen=True)
class TwoArms(Family):
    """`two-arms`: arms e1 and e2, theta = (base, base + gap).

    With theta = (5, 6) a scale below beta gets stuck on the wrong arm in many runs.
    """

    name: ClassVar[str] = "two-arms"
    noise: float | Noise = 1.0
    base: float = 5.0
    gap: float = 1.0
    dim = 2

    def __post_init__(self) -> None:
        check_fields(self)
        number("base", self.base)
        number("gap", self.gap, 0.0)

    def draw(self, rng: Generator) -> LinearProblem:
        return LinearProblem(FiniteArms(np.eye(2)), [self.base, self.base + self.gap], self.noise)


@dataclass(frozen=True)
class Trap(Family):
    """`trap`: the first observations hide the better of two arms: why theorems inflate the scale.

    At the scale of the noise most runs stay on the worse arm. Dimension dim + 1; e_0 is observed
    200 times and each e_i once, then {0, A} are on offer. theta = (0.75 mu sqrt d, mu, ..., mu)
    with mu = 2; A = (-1, 1/sqrt d, ..., 1/sqrt d) / sqrt 2 has a positive mean, which the shrinkage
    of the d directions observed once hides.

    Reference: in the spirit of Hamidi & Bayati, "On frequentist regret of linear Thompson
    sampling", 2020.
    """

    name: ClassVar[str] = "trap"
    dim: int = 50
    noise: float | Noise = 1.0

    def __post_init__(self) -> None:
        check_fields(self)

    def draw(self, rng: Generator) -> LinearProblem:
        d = self.dim
        theta = np.append(0.75 * 2.0 * d**0.5, np.full(d, 2.0))
        arms = np.vstack([np.zeros(d + 1), np.append(-1.0, np.full(d, d**-0.5)) / 2**0.5])
        warmup = len(arms) + np.append(np.zeros(200, np.int64), np.arange(1, d + 1))
        basis = np.eye(d + 1)
        return LinearProblem(FiniteArms(arms), theta, self.noise, warmup=warmup, others=basis)


@dataclass(frozen=True)
class Ball(Family):
    """`ball`: every x with |x| <= 1 is an arm; theta is a unit vector in a random direction."""

    name: ClassVar[str] = "ball"
    dim: int = 10
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        check_fields(self)

    def draw(self, rng: Generator) -> LinearProblem:
        return LinearProblem(UnitBall(self.dim), unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class AdversarialDuplicates(Family):
    """`adversarial-duplicates`: thousands of near-copies of a few arms, none much the best."""

    name: ClassVar[str] = "adversarial-duplicates"
    dim: int = 10
    arms: int = 5000
    centres: int = 10
    spread: float = 0.01
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        check_fields(self)
        whole("centres", self.centres, 1, self.arms)
        number("spread", self.spread, 0.0)

    def draw(self, rng: Generator) -> LinearProblem:
        centres = unit_rows(rng, self.centres, self.dim)[np.arange(self.arms) % self.centres]
        features = centres + self.spread * rng.standard_normal((self.arms, self.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return LinearProblem(FiniteArms(features), unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class Contextual(Family):
    """`contextual`: every round offers new unit vectors in random directions."""

    name: ClassVar[str] = "contextual"
    dim: int = 20
    arms: int = 20
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        check_fields(self)

    def draw(self, rng: Generator) -> ContextualLinearProblem:
        return ContextualLinearProblem(self.arms, unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class BernoulliArms(Family):
    """`bernoulli`: arms are basis vectors that pay 0 or 1, with probabilities U[low, high]."""

    name: ClassVar[str] = "bernoulli"
    arms: int = 10
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        number("low", self.low, 0.0, 1.0)
        number("high", self.high, self.low, 1.0)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms

    def draw(self, rng: Generator) -> LinearProblem:
        return self._problem(self.low + (self.high - self.low) * rng.random(self.arms))

    def example(self) -> LinearProblem:
        return self._problem(np.full(self.arms, self.high))

    def _problem(self, means: FloatArray) -> LinearProblem:
        return LinearProblem(FiniteArms(np.eye(self.arms)), means, BernoulliNoise())


@dataclass(frozen=True)
class Rescaled(Family):
    """`rescaled`: `sphere` in other units.

    Units of the features are spread evenly over `orders` powers of ten. Rewards, and their noise,
    are multiplied by `unit`; then `shift` is added to all of them.
    """

    name: ClassVar[str] = "rescaled"
    dim: int = 20
    arms: int = 100
    noise: float = 0.3
    unit: float = 1.0
    orders: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        number("noise", self.noise, 0.0)
        number("unit", self.unit, 1e-50, 1e50)
        number("orders", self.orders, 0.0, 50.0)
        number("shift", self.shift)

    @property
    def stretches(self) -> FloatArray:
        """The factor of each feature: [d]."""
        return 10.0 ** np.linspace(-self.orders / 2.0, self.orders / 2.0, self.dim)

    def draw(self, rng: Generator) -> LinearProblem:
        rows = unit_rows(rng, self.arms, self.dim)
        return self._problem(rows, unit_rows(rng, 1, self.dim)[0])

    def example(self) -> LinearProblem:
        """Return a problem with the largest |theta|: all of it in the smallest feature."""
        rows = unit_rows(np.random.default_rng(0), self.arms, self.dim)
        return self._problem(rows, np.eye(self.dim)[0])

    def _problem(self, rows: FloatArray, theta: FloatArray) -> LinearProblem:
        arms, theta = FiniteArms(rows * self.stretches), self.unit * theta / self.stretches
        noise = self.unit * self.noise
        if self.shift:
            return ShiftedProblem(arms, theta, noise, self.shift)
        return LinearProblem(arms, theta, noise)
