"""What every law of perturbations says of itself, and what of it can be used."""

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.random import Generator

from ensample.checks import LARGEST, number
from ensample.errors import InvalidArgument, WrongType
from ensample.registry import is_ours
from ensample.types import ArrayLike, FloatArray, IntArray, Shape

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
        """(c, p) with P(u'W >= c |u|) >= p for every u; the appendix's by default."""
        return self.subgaussian / 3.0, 0.01

    def norm_bound(self, dim: int, log_delta: float) -> float:
        """Return a length that |W| exceeds with probability at most exp(log_delta) (norm lemma)."""
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
        """Draw, for each n in `counts`, the sum of n draws: here in O(sum of counts)."""
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


def centred(heads: IntArray, trials: IntArray | int, unit: float) -> FloatArray:
    """The sum of `trials` signs of size `unit`, of which `heads` are positive."""
    return np.asarray(unit * (2.0 * heads - trials), np.float64)


def whole_counts(counts: ArrayLike | int) -> IntArray:
    """Numbers of draws: whole and >= 0."""
    given = np.asarray(counts)
    if given.dtype.kind not in "iu":
        raise WrongType("counts", counts, "whole numbers >= 0")
    if given.size and given.min() < 0:
        raise InvalidArgument("counts", counts, "whole numbers >= 0")
    return given.astype(np.int64)


def drawn(law: InitialLaw, values: object, shape: tuple[int, ...]) -> FloatArray:
    """Return a checked copy of what a law drew: a user's law may use its array again."""
    if is_ours(type(law)) and isinstance(values, np.ndarray):
        return values
    if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != np.float64:
        raise InvalidArgument(f"draws of {law!r}", values, f"an array of doubles of shape {shape}")
    if values.size and not (
        values.min() >= -LARGEST and values.max() <= LARGEST
    ):  # false for NaN too
        raise InvalidArgument(f"draws of {law!r}", values, f"finite numbers of at most {LARGEST:g}")
    return values.copy()
