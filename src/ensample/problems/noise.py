"""Laws of the reward noise, each with its subGaussian constant."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.random import Generator

from ensample.checks import number
from ensample.errors import InvalidArgument, WrongType
from ensample.types import FloatArray

NORMAL_NOISE, BERNOULLI_NOISE, SIGN_NOISE, STUDENT_NOISE, SALE_NOISE = range(5)
"""Kinds of noise, as cpp/simulate/state.hpp numbers them."""


def noisy_reward(kind: int, mean: float, spread: float, rng: Generator) -> float:
    """Draw a reward as the core does (`draw_reward` in cpp/simulate/learning.hpp).

    Every kind but Student's takes one number from `rng`.
    """
    if kind == BERNOULLI_NOISE:
        return 1.0 if rng.random() < mean else 0.0
    if kind == SIGN_NOISE:
        return mean + (spread if rng.random() < 0.5 else -spread)
    if kind == SALE_NOISE:  # 0, or the price that mean and standard deviation imply
        chance = mean * mean / (mean * mean + spread * spread) if mean != 0.0 else 0.0
        return mean / chance if rng.random() < chance else 0.0
    if kind == STUDENT_NOISE:  # three degrees of freedom, whose variance is 3
        chi_squared = 0.0
        for _ in range(3):
            chi_squared += rng.standard_normal() ** 2
        return float(mean + spread * rng.standard_normal() / np.sqrt(chi_squared))
    return mean + spread * rng.standard_normal()


def spread_at(mean: Any, low: float, high: float) -> Any:
    """Return low + (high - low) min(1, |mean|), at one mean or at each of many."""
    return low + (high - low) * np.minimum(1.0, np.abs(mean))


class Noise(ABC):
    """Law of a reward around its mean.

    One of your own defines what is abstract here, and is simulated by live policies.
    """

    @property
    @abstractmethod
    def subgaussian(self) -> float:
        """The constant sigma of Assumption 2; infinite if there is none."""

    @property
    def size(self) -> float:
        """The number that studies call noise: sigma, or the standard deviation without one."""
        return self.subgaussian

    @abstractmethod
    def spreads(self, means: FloatArray) -> FloatArray:
        """Return the standard deviation (or size) of the noise at each mean."""

    @abstractmethod
    def draw(self, mean: float, spread: float, rng: Generator) -> float:
        """Draw a reward."""

    def check(self, means: FloatArray) -> None:
        """Raise if these means cannot have this noise."""
        return


class KernelNoise(Noise):
    """Noise that the compiled core draws too.

    Every subclass sets `kind` itself, for a subclass of it may draw otherwise.
    """

    kind: int  # NORMAL_NOISE to SALE_NOISE

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """(low, high) of `spread_at`."""

    def spreads(self, means: FloatArray) -> FloatArray:
        return np.asarray(spread_at(means, *self.range))

    def draw(self, mean: float, spread: float, rng: Generator) -> float:
        """Draw as the core does."""
        return noisy_reward(self.kind, mean, spread, rng)


def is_kernel_noise(noise: Noise) -> TypeGuard[KernelNoise]:
    return isinstance(noise, KernelNoise) and "kind" in vars(type(noise))


class ScaledNoise(KernelNoise):
    """Noise of the same size everywhere."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number("noise", self.scale, 0.0))

    @property
    def subgaussian(self) -> float:
        return self.scale

    def spreads(self, means: FloatArray) -> FloatArray:
        return np.full(np.shape(means), self.scale)

    @property
    def range(self) -> tuple[float, float]:
        return self.scale, self.scale


@dataclass(frozen=True)
class GaussianNoise(ScaledNoise):
    """N(0, scale^2)."""

    scale: float
    kind = NORMAL_NOISE


@dataclass(frozen=True)
class RademacherNoise(ScaledNoise):
    """-scale or +scale: bounded noise."""

    scale: float
    kind = SIGN_NOISE


@dataclass(frozen=True)
class StudentNoise(ScaledNoise):
    """Student's t with three degrees of freedom, `scale` its standard deviation: not subGaussian.

    >>> StudentNoise(0.3).size, StudentNoise(0.3).subgaussian
    (0.3, inf)
    """

    scale: float
    kind = STUDENT_NOISE

    @property
    def subgaussian(self) -> float:
        return np.inf

    @property
    def size(self) -> float:
        return self.scale


@dataclass(frozen=True)
class BernoulliNoise(KernelNoise):
    """Rewards 0 or 1 with the mean as probability: 1/2-subGaussian."""

    kind = BERNOULLI_NOISE

    @property
    def subgaussian(self) -> float:
        return 0.5

    def spreads(self, means: FloatArray) -> FloatArray:
        return np.sqrt(np.clip(means * (1.0 - means), 0.0, None))

    @property
    def range(self) -> tuple[float, float]:
        return self.subgaussian, self.subgaussian  # of no effect: the mean alone decides

    def check(self, means: FloatArray) -> None:
        if np.min(means) < -1e-12 or np.max(means) > 1.0 + 1e-12:
            raise InvalidArgument("theta", means, "means in [0, 1] for Bernoulli rewards")


@dataclass(frozen=True)
class HeteroscedasticNoise(KernelNoise):
    """Gaussian with standard deviation low + (high - low) min(1, |mean|)."""

    low: float
    high: float
    kind = NORMAL_NOISE

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", number("low", self.low, 0.0))
        object.__setattr__(self, "high", number("high", self.high, self.low))

    @property
    def subgaussian(self) -> float:
        return self.high

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class SaleNoise(KernelNoise):
    """A price that is paid or not: `PricingProblem` knows the price that a mean belongs to."""

    price: float  # the largest
    kind = SALE_NOISE

    @property
    def subgaussian(self) -> float:
        return self.price / 2.0

    @property
    def range(self) -> tuple[float, float]:
        return self.subgaussian, self.subgaussian


def as_noise(value: object) -> Noise:
    """Return a noise law; a number is the scale of Gaussian noise."""
    if isinstance(value, Noise):
        return value
    if isinstance(value, type | str):
        raise WrongType("noise", value, "a number or a noise law such as StudentNoise(0.3)")
    return GaussianNoise(value)  # type: ignore[arg-type]
