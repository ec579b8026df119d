"""Laws of perturbations: Gaussian, signs, uniform, centred binomial, and vectors on a sphere."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ensample import _core
from ensample.checks import whole
from ensample.perturbations.law import InitialLaw, Perturbation, centred, whole_counts
from ensample.types import ArrayLike, FloatArray, Shape

P_N = 0.15865525393145705  # to the last bit; 0.5 erfc(sqrt(0.5)) in doubles is not
"""P(N(0, 1) >= 1) = 0.1586..., the anti-concentration of a Gaussian (Fact 1)."""


@dataclass(frozen=True)
class Gaussian(Perturbation):
    """N(0, scale^2): the law of Theorem 1, with constants of its own.

    >>> Gaussian(2.0).variance, Gaussian(2.0).anticoncentration
    (4.0, (2.0, 0.15865525393145705))
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    @property
    def anticoncentration(self) -> tuple[float, float]:
        return self.scale, P_N

    def norm_bound(self, dim: int, log_delta: float) -> float:
        return self.scale * (math.sqrt(dim) + math.sqrt(-2.0 * log_delta))

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        draws = standard_normals(rng, shape)
        draws *= self.scale
        return draws

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        counts = whole_counts(counts)
        return self.scale * np.sqrt(counts) * standard_normals(rng, counts.shape)


def standard_normals(rng: Generator, shape: Shape) -> FloatArray:
    """Draw as `rng.standard_normal(shape)`, in a third of the time and with fixed bits."""
    draws = np.empty(shape)
    with rng.bit_generator.lock:
        _core.draw_normal(rng, draws.reshape(-1))
    return draws


GAUSSIAN = Gaussian()
"""The law that the theorems assume unless another is named."""


@dataclass(frozen=True)
class Rademacher(Perturbation):
    """-scale or +scale with equal probability.

    >>> float(abs(Rademacher(0.5).draw(np.random.default_rng(0), 9)).max())
    0.5
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        signs = rng.integers(0, 2, shape, np.int8).astype(np.float64)
        signs *= 2.0 * self.scale
        signs -= self.scale
        return signs

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        counts = whole_counts(counts)
        return centred(rng.binomial(counts, 0.5), counts, self.scale)


@dataclass(frozen=True)
class Uniform(Perturbation):
    """Uniform on [-sqrt(3) scale, sqrt(3) scale], so that the standard deviation is `scale`.

    On [-1, 1] with subGaussian constant 1 the variance would be 1/3 and the appendix would not
    apply. The sum of n uniforms has no law that is cheap to draw from: `draw_sum` draws n and adds.
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        return math.sqrt(3.0) * self.scale * (2.0 * rng.random(shape) - 1.0)


@dataclass(frozen=True)
class CenteredBinomial(Perturbation):
    """scale (2 B - trials) / sqrt(trials) with B ~ Binomial(trials, 1/2).

    It is the mean of `trials` signs, rescaled.

    >>> CenteredBinomial(trials=4, scale=3.0).variance
    9.0
    """

    trials: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trials", whole("trials", self.trials, 1, 1_000_000))

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        return centred(
            rng.binomial(self.trials, 0.5, shape), self.trials, self.scale / math.sqrt(self.trials)
        )

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        trials = self.trials * whole_counts(counts)
        return centred(rng.binomial(trials, 0.5), trials, self.scale / math.sqrt(self.trials))


@dataclass(frozen=True)
class Sphere(InitialLaw):
    """Uniform on the sphere of radius scale * sqrt(dim): for initial vectors only.

    Its coordinates are not independent.

    It is admitted by the appendix, whose proof uses only that u'Z is symmetric, 1-subGaussian and
    of variance >= |u|^2/2: so is a vector uniform on the sphere of radius sqrt(dim) beside
    independent rewards' perturbations.

    >>> w = Sphere(2.0).draw_vectors(np.random.default_rng(0), size=1, dim=9)
    >>> round(float(np.linalg.norm(w)), 12)
    6.0
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def norm_bound(self, dim: int, log_delta: float) -> float:
        return self.scale * math.sqrt(dim)

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        vectors = standard_normals(rng, (size, dim))
        vectors *= self.scale * math.sqrt(dim) / np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
