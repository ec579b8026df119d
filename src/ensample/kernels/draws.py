"""Draws of the built-in laws inside kernels."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded
from ensample.types import FloatArray

__all__ = ["BINOMIAL", "GAUSSIAN", "SPHERE", "UNIFORM", "Code", "draw_sum", "draw_vector"]

GAUSSIAN, UNIFORM, BINOMIAL, SPHERE = 0, 1, 2, 3  # Rademacher is BINOMIAL with one trial


Code = tuple[int, int, float]
"""Kind, trials and scale of a law."""


@embedded
def draw_sum(kind: int, trials: int, scale: float, n: int, rng: Generator) -> float:
    """The sum of n draws: one step for Gaussian and binomial laws, n steps for the uniform one."""
    if kind == GAUSSIAN:
        return scale * np.sqrt(n) * rng.standard_normal()
    if kind == BINOMIAL:
        count = n * trials
        heads = rng.binomial(count, 0.5) if count > 1 else (1 if rng.random() < 0.5 else 0)
        return scale / np.sqrt(trials) * (2.0 * heads - count)
    total = 0.0
    for _ in range(n):
        total += 2.0 * rng.random() - 1.0
    return np.sqrt(3.0) * scale * total


@borrowing
def draw_vector(kind: int, trials: int, scale: float, out: FloatArray, rng: Generator) -> None:
    """An initial vector W, into `out`."""
    if kind == SPHERE:
        squares = 0.0
        for i in range(out.size):
            out[i] = rng.standard_normal()
            squares += out[i] * out[i]
        for i in range(out.size):
            out[i] *= scale * np.sqrt(out.size / squares)
    else:
        for i in range(out.size):
            out[i] = draw_sum(kind, trials, scale, 1, rng)
