"""Models drawn afresh each round on finitely many arms: LinPHE and Thompson sampling."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.draws import Code, draw_sum, draw_vector
from ensample.kernels.lazy import Inflation, inflation, perturbed
from ensample.kernels.ridge import rotate
from ensample.kernels.world import Track, World, begin, greedy_arm, pull, stopped

__all__ = ["gaussian_history", "summed_history"]


@kernel
def gaussian_history(
    world: World,
    track: Track,
    initial: Code,
    scale: float,
    factor: Inflation,
    noise_rng: Generator,
    rng: Generator,
    adaptive: bool = False,
) -> None:
    """theta = theta_hat + factor_t V^-1 (W + scale R'g), g ~ N(0, I), R'R = sum x x': O(d^2) a round.

    The t of factor_t is the number of observations, the warm-up's included. `adaptive` multiplies it by the standard deviation
    of the rewards so far.
    """
    rows, d = world.features.shape
    root = np.zeros((d, d))
    total = np.zeros(d)
    theta = np.zeros(d)
    first = begin(world, track, noise_rng)
    for k in range(rows):
        for _ in range(track.pulls[k]):
            rotate(root, world.features[k])
    for t in range(first, track.checkpoints[-1]):
        if stopped(track, t):
            return
        draw_vector(initial[0], initial[1], initial[2], total, rng)
        for i in range(d):
            weight = scale * rng.standard_normal()
            for k in range(i, d):
                total[k] += weight * root[i, k]
        seen = world.warmup.size + t
        size = inflation(factor, track, seen, d)
        perturbed(track, total, size * reward_spread(track, seen) if adaptive else size, theta)
        arm = greedy_arm(world, track, theta)
        pull(world, track, t, arm, noise_rng)
        rotate(root, world.features[arm])


@kernel
def reward_spread(track: Track, n: int) -> float:
    """The standard deviation of the n rewards so far, n in its denominator; 0 for none."""
    if n == 0:
        return 0.0
    mean = track.sums[2] / n
    return np.sqrt(max(0.0, track.sums[3] / n - mean * mean))


@kernel
def summed_history(
    world: World,
    track: Track,
    initial: Code,
    law: Code,
    noise_rng: Generator,
    rng: Generator,
) -> None:
    """theta = theta_hat + V^-1 (W + sum_k x_k G_k), G_k the sum of N_k draws: O(K d) a round where that sum is one step."""
    rows, d = world.features.shape
    total = np.zeros(d)
    theta = np.zeros(d)
    for t in range(begin(world, track, noise_rng), track.checkpoints[-1]):
        if stopped(track, t):
            return
        draw_vector(initial[0], initial[1], initial[2], total, rng)
        for k in range(rows):
            if track.pulls[k] > 0:
                weight = draw_sum(law[0], law[1], law[2], track.pulls[k], rng)
                for i in range(d):
                    total[i] += weight * world.features[k, i]
        perturbed(track, total, 1.0, theta)
        pull(world, track, t, greedy_arm(world, track, theta), noise_rng)
