"""Laws of the reward noise, each with its subGaussian constant."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ensample.checks import number
from ensample.errors import InvalidArgument, WrongType
from ensample.kernels.world import BERNOULLI, GAUSSIAN, SIGNS
from ensample.types import FloatArray

__all__ = ["BernoulliNoise", "GaussianNoise", "HeteroscedasticNoise", "Noise", "RademacherNoise", "as_noise"]


class Noise(ABC):
    """Turns a mean into a reward. `kind` is what the kernels call it."""

    kind: int

    @property
    @abstractmethod
    def subgaussian(self) -> float:
        """sigma of Assumption 2."""

    @abstractmethod
    def spreads(self, means: FloatArray) -> FloatArray:
        """The standard deviation (or size) of the noise at each mean."""

    @property
    def range(self) -> tuple[float, float]:
        """(low, high) with spread low + (high - low) min(1, |mean|), as kernels on moving arms compute it."""
        return self.subgaussian, self.subgaussian

    def check(self, means: FloatArray) -> None:
        """Raise if these means cannot have this noise."""
        return

    def draw(self, mean: float, spread: float, rng: Generator) -> float:
        """A reward; takes one number from `rng`, as the kernels do."""
        if self.kind == BERNOULLI:
            return float(rng.random() < mean)
        if self.kind == SIGNS:
            return mean + (spread if rng.random() < 0.5 else -spread)
        return mean + spread * rng.standard_normal()


class ScaledNoise(Noise):
    """Noise of the same size everywhere."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number("noise", self.scale, 0.0))

    @property
    def subgaussian(self) -> float:
        return self.scale

    def spreads(self, means: FloatArray) -> FloatArray:
        return np.full(np.shape(means), self.scale)


@dataclass(frozen=True)
class GaussianNoise(ScaledNoise):
    """N(0, scale^2)."""

    scale: float
    kind = GAUSSIAN


@dataclass(frozen=True)
class RademacherNoise(ScaledNoise):
    """-scale or +scale: bounded noise."""

    scale: float
    kind = SIGNS


@dataclass(frozen=True)
class BernoulliNoise(Noise):
    """Rewards 0 or 1 with the mean as probability: 1/2-subGaussian."""

    kind = BERNOULLI

    @property
    def subgaussian(self) -> float:
        return 0.5

    def spreads(self, means: FloatArray) -> FloatArray:
        return np.sqrt(np.clip(means * (1.0 - means), 0.0, None))

    @property
    def range(self) -> tuple[float, float]:
        """(low, high) with spread low + (high - low) min(1, |mean|), as kernels on moving arms compute it."""
        return self.subgaussian, self.subgaussian

    def check(self, means: FloatArray) -> None:
        if np.min(means) < -1e-12 or np.max(means) > 1.0 + 1e-12:
            raise InvalidArgument("theta", means, "means in [0, 1] for Bernoulli rewards")


@dataclass(frozen=True)
class HeteroscedasticNoise(Noise):
    """Gaussian with standard deviation low + (high - low) min(1, |mean|): louder where more is at stake."""

    low: float
    high: float
    kind = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", number("low", self.low, 0.0))
        object.__setattr__(self, "high", number("high", self.high, self.low))

    @property
    def subgaussian(self) -> float:
        return self.high

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high

    def spreads(self, means: FloatArray) -> FloatArray:
        return self.low + (self.high - self.low) * np.minimum(1.0, np.abs(means))


def as_noise(value: object) -> Noise:
    """A noise law, or a number as the scale of Gaussian noise."""
    if isinstance(value, Noise):
        return value
    if isinstance(value, type):
        raise WrongType("noise", value, "a number or a noise law such as BernoulliNoise()")
    return GaussianNoise(value)  # type: ignore[arg-type]
