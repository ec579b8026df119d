"""|theta~|_V of many members at once, for arms that chase the perturbation and for arms that are fixed."""

import math

import numpy as np
from numpy.random import Generator

from ensample.perturbations import InitialLaw, Perturbation
from ensample.types import FloatArray


def norms_when_chased(
    initial: InitialLaw,
    reward: Perturbation,
    lam: float,
    dim: int,
    rounds: int,
    members: int,
    rng: Generator,
) -> FloatArray:
    """max over t <= rounds of |theta~_t|_{V_t} for independent members, each with arms of its own: [members].

    Odd rounds play the unit vector along theta~, which adds to what is there, even rounds a random one. Both are chosen
    before the round's perturbation, as the lemmas ask.
    """
    S = initial.rescaled(math.sqrt(lam) * initial.scale).draw_vectors(rng, members, dim)
    inverse = np.tile(np.eye(dim) / lam, (members, 1, 1))
    largest = norms(inverse, S)
    for t in range(rounds):
        x = rng.standard_normal((members, dim)) if t % 2 else np.einsum("rij,rj->ri", inverse, S)
        x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-300
        S += x * reward.draw(rng, members)[:, None]
        u = np.einsum("rij,rj->ri", inverse, x)
        gain = u / (1.0 + np.einsum("ri,ri->r", x, u))[:, None]
        inverse -= gain[:, :, None] * u[:, None, :]
        largest = np.maximum(largest, norms(inverse, S))
    return largest


def norms(inverse: FloatArray, S: FloatArray) -> FloatArray:
    """|theta~|_V = |S|_{V^-1}."""
    return np.asarray(np.sqrt(np.einsum("ri,rij,rj->r", S, inverse, S)))


def norms_when_fixed(
    initial: InitialLaw,
    reward: Perturbation,
    lam: float,
    dim: int,
    rounds: int,
    members: int,
    rng: Generator,
) -> FloatArray:
    """The same for the basis vectors one after the other, where V stays diagonal and large dimensions cost little."""
    S = initial.rescaled(math.sqrt(lam) * initial.scale).draw_vectors(rng, members, dim)
    V = np.full(dim, lam)
    largest = np.sqrt((S**2 / V).sum(axis=1))
    for t in range(rounds):
        S[:, t % dim] += reward.draw(rng, members)
        V[t % dim] += 1.0
        largest = np.maximum(largest, np.sqrt((S**2 / V).sum(axis=1)))
    return np.asarray(largest)
