"""Draws of the built-in laws inside kernels."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded
from ensample.types import FloatArray

__all__ = ["BINOMIAL_LAW", "GAUSSIAN_LAW", "SPHERE_LAW", "UNIFORM_LAW", "Law", "Laws", "draw_sum", "draw_vector"]

GAUSSIAN_LAW, UNIFORM_LAW, BINOMIAL_LAW, SPHERE_LAW = 0, 1, 2, 3  # Rademacher is BINOMIAL_LAW with one trial


class Law(NamedTuple):
    """A law of perturbations as kernels know it."""

    kind: int  # one of the four above
    trials: int
    scale: float


class Laws(NamedTuple):
    """Of the perturbations of Algorithm 1."""

    initial: Law  # P_I, of W
    reward: Law  # P_R, of Z


@embedded
def draw_sum(law: Law, n: int, rng: Generator) -> float:
    """The sum of n draws: one step for Gaussian and binomial laws, n steps for the uniform one."""
    if law.kind == GAUSSIAN_LAW:
        return law.scale * np.sqrt(n) * rng.standard_normal()
    if law.kind == BINOMIAL_LAW:
        count = n * law.trials
        heads = rng.binomial(count, 0.5) if count > 1 else (1 if rng.random() < 0.5 else 0)
        return law.scale / np.sqrt(law.trials) * (2.0 * heads - count)
    total = 0.0
    for _ in range(n):
        total += 2.0 * rng.random() - 1.0
    return np.sqrt(3.0) * law.scale * total


@borrowing
def draw_vector(law: Law, out: FloatArray, rng: Generator) -> None:
    """An initial vector W, into `out`."""
    if law.kind == SPHERE_LAW:
        squares = 0.0
        for i in range(out.size):
            out[i] = rng.standard_normal()
            squares += out[i] * out[i]
        for i in range(out.size):
            out[i] *= law.scale * np.sqrt(out.size / squares)
    elif law.kind == GAUSSIAN_LAW:  # as below, in two thirds of the time
        for i in range(out.size):
            out[i] = law.scale * rng.standard_normal()
    else:
        for i in range(out.size):
            out[i] = draw_sum(law, 1, rng)
