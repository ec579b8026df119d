"""Families of linear problems; each replicate of a simulation draws its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms, UnitBall
from ensample.checks import number, whole
from ensample.problems.family import Family
from ensample.problems.linear import ContextualLinearProblem, LinearProblem, ShiftedProblem
from ensample.problems.noise import BernoulliNoise, Noise
from ensample.types import FloatArray


def unit_rows(rng: Generator, count: int, dim: int) -> FloatArray:
    """Unit vectors in random directions: [count, dim]."""
    rows = rng.standard_normal((count, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@dataclass(frozen=True)
class RandomSphere(Family):
    """`sphere`: arms and parameter are unit vectors in random directions."""

    name: ClassVar[str] = "sphere"
    dim: int = 20
    arms: int = 100
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        self.check_fields()

    def draw(self, rng: Generator) -> LinearProblem:
        return LinearProblem(
            FiniteArms(unit_rows(rng, self.arms, self.dim)),
            unit_rows(rng, 1, self.dim)[0],
            self.noise,
        )


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
        self.check_fields()

    def draw(self, rng: Generator) -> LinearProblem:
        features = rng.random((self.arms, self.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.random(self.dim) - 0.5
        theta /= np.linalg.norm(theta)
        return LinearProblem(FiniteArms(features), theta, self.noise, opening=np.arange(self.arms))


@dataclass(frozen=True)
class Kveton(Family):
    """`kveton`: d - 1 features on the unit sphere and a bias, Bernoulli rewards with means in [0,
    1].

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
        d = self.dim
        features = np.ones((self.arms, d))
        features[:, : d - 1] = unit_rows(rng, self.arms, d - 1)
        features[:d, : d - 1] = np.eye(d)[:, : d - 1]
        theta = np.append(0.5 * unit_rows(rng, 1, d - 1)[0], 0.5)
        return LinearProblem(FiniteArms(features / 2**0.5), theta * 2**0.5, BernoulliNoise())


@dataclass(frozen=True)
class TwoArms(Family):
    """`two-arms`: arms e1 and e2, theta = (base, base + gap), here (5, 6).

    A scale below beta gets stuck on the wrong arm in many runs.
    """

    name: ClassVar[str] = "two-arms"
    noise: float | Noise = 1.0
    base: float = 5.0
    gap: float = 1.0
    dim = 2

    def __post_init__(self) -> None:
        self.check_fields()
        number("base", self.base)
        number("gap", self.gap, 0.0)

    def draw(self, rng: Generator) -> LinearProblem:
        return LinearProblem(FiniteArms(np.eye(2)), [self.base, self.base + self.gap], self.noise)


@dataclass(frozen=True)
class Trap(Family):
    """`trap`: the first observations hide the better of two arms.

    At the scale of the noise most runs stay on the other arm, which is why the theorem inflates the
    scale. Dimension dim + 1; e_0 is seen 200 times and each e_i once, then {0, A} are on offer.
    theta = (0.75 mu sqrt d, mu, ..., mu) with mu = 2; A = (-1, 1/sqrt d, ..., 1/sqrt d) / sqrt 2
    has a positive mean, which the shrinkage of the d directions seen once hides.

    Reference: in the spirit of Hamidi & Bayati, "On frequentist regret of linear Thompson
    sampling", 2020.
    """

    name: ClassVar[str] = "trap"
    dim: int = 50
    noise: float | Noise = 1.0

    def __post_init__(self) -> None:
        self.check_fields()

    def draw(self, rng: Generator) -> LinearProblem:
        d = self.dim
        theta = np.append(0.75 * 2.0 * d**0.5, np.full(d, 2.0))
        arm = np.append(-1.0, np.full(d, d**-0.5)) / 2**0.5
        basis = np.eye(d + 1)
        arms = FiniteArms(np.vstack([np.zeros(d + 1), arm]))
        seen = len(arms) + np.append(np.zeros(200, np.int64), np.arange(1, d + 1))  # of the basis
        return LinearProblem(arms, theta, self.noise, warmup=seen, others=basis)


@dataclass(frozen=True)
class Ball(Family):
    """`ball`: every x with |x| <= 1 is an arm; theta is a unit vector in a random direction."""

    name: ClassVar[str] = "ball"
    dim: int = 10
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        self.check_fields()

    def draw(self, rng: Generator) -> LinearProblem:
        return LinearProblem(UnitBall(self.dim), unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class AdversarialDuplicates(Family):
    """`adversarial-duplicates`: thousands of arms that are near-copies of a few."""

    name: ClassVar[str] = "adversarial-duplicates"
    dim: int = 10
    arms: int = 5000
    centres: int = 10
    spread: float = 0.01
    noise: float | Noise = 0.3

    def __post_init__(self) -> None:
        self.check_fields()
        whole("centres", self.centres, 1, self.arms)
        number("spread", self.spread, 0.0)

    def draw(self, rng: Generator) -> LinearProblem:
        centres = unit_rows(rng, self.centres, self.dim)
        features = centres[np.arange(self.arms) % self.centres] + self.spread * rng.standard_normal(
            (self.arms, self.dim)
        )
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
        self.check_fields()

    def draw(self, rng: Generator) -> ContextualLinearProblem:
        return ContextualLinearProblem(self.arms, unit_rows(rng, 1, self.dim)[0], self.noise)


@dataclass(frozen=True)
class BernoulliArms(Family):
    """`bernoulli`: arms are basis vectors that pay 0 or 1, with means uniform on [low, high]."""

    name: ClassVar[str] = "bernoulli"
    arms: int = 10
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self.check_fields()
        number("low", self.low, 0.0, 1.0)
        number("high", self.high, self.low, 1.0)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms

    def draw(self, rng: Generator) -> LinearProblem:
        means = self.low + (self.high - self.low) * rng.random(self.arms)
        return LinearProblem(FiniteArms(np.eye(self.arms)), means, BernoulliNoise())

    def example(self) -> LinearProblem:
        return LinearProblem(
            FiniteArms(np.eye(self.arms)), np.full(self.arms, self.high), BernoulliNoise()
        )


@dataclass(frozen=True)
class Rescaled(Family):
    """`rescaled`: `sphere` in other units.

    Features' units are spread evenly over `orders` powers of ten. Rewards, and their noise, are
    multiplied by `unit`; then `shift` is added to all of them.
    """

    name: ClassVar[str] = "rescaled"
    dim: int = 20
    arms: int = 100
    noise: float = 0.3
    unit: float = 1.0
    orders: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        self.check_fields()
        number("noise", self.noise, 0.0)
        number("unit", self.unit, 1e-50, 1e50)
        number("orders", self.orders, 0.0, 50.0)
        number("shift", self.shift)

    @property
    def stretches(self) -> FloatArray:
        """What features are multiplied by: [d]."""
        return 10.0 ** np.linspace(-self.orders / 2.0, self.orders / 2.0, self.dim)

    def draw(self, rng: Generator) -> LinearProblem:
        rows = unit_rows(rng, self.arms, self.dim)
        return self._problem(rows, unit_rows(rng, 1, self.dim)[0])

    def example(self) -> LinearProblem:
        """With the largest |theta|: all of it in the smallest feature."""
        return self._problem(
            unit_rows(np.random.default_rng(0), self.arms, self.dim), np.eye(self.dim)[0]
        )

    def _problem(self, rows: FloatArray, theta: FloatArray) -> LinearProblem:
        arms, theta = FiniteArms(rows * self.stretches), self.unit * theta / self.stretches
        noise = self.unit * self.noise
        return (
            ShiftedProblem(arms, theta, noise, self.shift)
            if self.shift
            else LinearProblem(arms, theta, noise)
        )
