"""Laws of the perturbations: P_R of the rewards (scalar) and P_I of the initial vectors.

Each law knows its scale, variance, subGaussian constant and anti-concentration, how to draw, and how to draw
the sum of n of its draws in one step where that law is known. The paper asks of a law (its appendix on
generalising the perturbations) that it be symmetric, i.i.d., 1-subGaussian and of variance at least 1/2
after division by its subGaussian constant.

A law of your own is a small frozen dataclass:

>>> from dataclasses import dataclass
>>> import numpy as np
>>> from ensample.perturbations import Perturbation
>>> @dataclass(frozen=True)
... class Triangular(Perturbation):
...     scale: float = 1.0  # its standard deviation
...     @property
...     def subgaussian(self):
...         return self.scale  # a sum of two uniforms, each with its own variance as proxy
...     def draw(self, rng, shape):
...         edge = 6**0.5
...         return self.scale * rng.triangular(-edge, 0.0, edge, shape)
>>> Triangular(2.0).draw(np.random.default_rng(0), 3).shape
(3,)
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from ensample.checks import LARGEST, number, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.types import ArrayLike, FloatArray, IntArray, Shape

__all__ = [
    "GAUSSIAN",
    "P_N",
    "CenteredBinomial",
    "Gaussian",
    "InitialLaw",
    "Perturbation",
    "Rademacher",
    "Sphere",
    "Uniform",
    "drawn",
]

P_N = 0.15865525393145705  # to the last bit; 0.5 erfc(sqrt(0.5)) in doubles is not
"""P(N(0, 1) >= 1) = 0.1586..., the anti-concentration of a Gaussian (Fact 1)."""

CHUNK = 1 << 16  # draws held at once when a sum has to be drawn term by term


class InitialLaw(ABC):
    """A symmetric law of vectors with uncorrelated coordinates of standard deviation `scale`."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number("scale", self.scale, 0.0))

    @property
    def variance(self) -> float:
        """The variance of a coordinate."""
        return self.scale**2

    @property
    @abstractmethod
    def subgaussian(self) -> float:
        """The least known s with E exp(u'W) <= exp(s^2 |u|^2 / 2) for every u."""

    @property
    def anticoncentration(self) -> tuple[float, float]:
        """(c, p) with P(u'W >= c |u|) >= p for every u; (1/3, 0.01) of the appendix unless the law knows better."""
        return self.subgaussian / 3.0, 0.01

    def norm_bound(self, dim: int, log_delta: float) -> float:
        """A length that |W| exceeds with probability at most delta = exp(log_delta) (appendix, norm lemma)."""
        return self.subgaussian * math.sqrt(2.0 * dim - 4.0 * log_delta)

    def rescaled(self, scale: float) -> Self:
        """The same law with another scale."""
        return dataclasses.replace(self, scale=scale)  # type: ignore[type-var]

    @abstractmethod
    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        """`size` independent vectors: [size, dim]."""


class Perturbation(InitialLaw):
    """A symmetric scalar law; as an initial law it fills vectors with independent coordinates.

    A law of your own defines `subgaussian` and `draw`, and `draw_sum` if it knows the law of a sum.
    """

    @abstractmethod
    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        """Independent draws in an array of the given shape."""

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        """For each n in `counts`, the sum of n independent draws. Here: draw them all and add, O(sum of counts)."""
        counts = whole_counts(counts)
        ends = np.cumsum(counts.ravel())
        total = int(ends[-1]) if ends.size else 0
        sums = np.zeros(ends.size)
        for start in range(0, total, CHUNK):
            stop = min(start + CHUNK, total)
            owners = np.searchsorted(ends, np.arange(start, stop), side="right")
            draws = drawn(self, self.draw(rng, stop - start), (stop - start,))
            sums += np.bincount(owners, draws, minlength=ends.size)
        return sums.reshape(counts.shape)

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        return self.draw(rng, (size, dim))


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
        draws = rng.standard_normal(shape)
        draws *= self.scale
        return draws

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        counts = whole_counts(counts)
        return self.scale * np.sqrt(counts) * rng.standard_normal(counts.shape)


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

    On [-1, 1] with subGaussian constant 1 the variance would be 1/3 and the appendix would not apply. The sum of n
    uniforms has no law that is cheap to draw from: `draw_sum` draws n and adds.
    """

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        return math.sqrt(3.0) * self.scale * (2.0 * rng.random(shape) - 1.0)


@dataclass(frozen=True)
class CenteredBinomial(Perturbation):
    """scale (2 B - trials) / sqrt(trials) with B ~ Binomial(trials, 1/2): the mean of `trials` signs, rescaled.

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
        return centred(rng.binomial(self.trials, 0.5, shape), self.trials, self.scale / math.sqrt(self.trials))

    def draw_sum(self, rng: Generator, counts: ArrayLike | int) -> FloatArray:
        trials = self.trials * whole_counts(counts)
        return centred(rng.binomial(trials, 0.5), trials, self.scale / math.sqrt(self.trials))


@dataclass(frozen=True)
class Sphere(InitialLaw):
    """Uniform on the sphere of radius scale * sqrt(dim): for initial vectors only, its coordinates are not independent.

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
        vectors = rng.standard_normal((size, dim))
        vectors *= self.scale * math.sqrt(dim) / np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def centred(heads: IntArray, trials: IntArray | int, unit: float) -> FloatArray:
    """The sum of `trials` signs of size `unit`, of which `heads` are positive."""
    return np.asarray(unit * (2.0 * heads - trials), np.float64)


GAUSSIAN = Gaussian()
"""The law that the theorems assume unless another is named."""


def whole_counts(counts: ArrayLike | int) -> IntArray:
    """Numbers of draws: whole and >= 0."""
    given = np.asarray(counts)
    if given.dtype.kind not in "iu":
        raise WrongType("counts", counts, "whole numbers >= 0")
    if given.size and given.min() < 0:
        raise InvalidArgument("counts", counts, "whole numbers >= 0")
    return given.astype(np.int64)


def drawn(law: InitialLaw, values: object, shape: tuple[int, ...]) -> FloatArray:
    """What a law drew, once it is seen to be usable: a law may be the user's own, and use its array again."""
    if type(law).__module__ == __name__ and isinstance(values, np.ndarray):
        return values
    if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != np.float64:
        raise InvalidArgument(f"draws of {law!r}", values, f"an array of doubles of shape {shape}")
    if values.size and not (values.min() >= -LARGEST and values.max() <= LARGEST):  # false for NaN too
        raise InvalidArgument(f"draws of {law!r}", values, f"finite numbers of at most {LARGEST:g}")
    return values.copy()
