"""Linear Ensemble++ on finitely many arms."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.draws import SPHERE, draw_vector
from ensample.kernels.lazy import perturbed
from ensample.kernels.rows import axpy, sum_rows
from ensample.kernels.world import Track, World, begin, greedy_arm, pull, stopped
from ensample.types import FloatArray

__all__ = ["shared_factor"]


@kernel
def shared_factor(
    world: World,
    track: Track,
    size: int,
    scale: float,
    noise_rng: Generator,
    member_rng: Generator,
    rng: Generator,
) -> None:
    """theta = theta_hat + scale V^-1 S zeta with a fresh zeta ~ N(0, I_M); S += x z', z on the unit sphere of R^M."""
    rows, d = world.features.shape
    directions = np.empty((size, d))  # S'
    z = np.empty(size)
    zeta = np.empty(size)
    total = np.zeros(d)
    theta = np.zeros(d)
    unit = 1.0 / np.sqrt(size)
    for i in range(d):
        draw_vector(SPHERE, 1, np.sqrt(track.lam) * unit, z, rng)
        directions[:, i] = z
    first = begin(world, track, noise_rng)
    for k in range(rows):
        for _ in range(track.pulls[k]):
            draw_vector(SPHERE, 1, unit, z, rng)
            learn_direction(directions, world.features[k], z)
    for t in range(first, track.checkpoints[-1]):
        if stopped(track, t):
            return
        for j in range(size):
            zeta[j] = member_rng.standard_normal()
        sum_rows(total, directions, zeta)
        perturbed(track, total, scale, theta)
        arm = greedy_arm(world, track, theta)
        pull(world, track, t, arm, noise_rng)
        draw_vector(SPHERE, 1, unit, z, rng)
        learn_direction(directions, world.features[arm], z)


@kernel
def learn_direction(directions: FloatArray, x: FloatArray, z: FloatArray) -> None:
    """S += x z', kept transposed: [M, d]."""
    for j in range(z.size):
        axpy(directions[j], z[j], x)
