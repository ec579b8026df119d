"""LinPHE with Bernoulli pseudo-rewards on finitely many arms."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.lazy import perturbed
from ensample.kernels.world import Track, World, begin, greedy_arm, pull, stopped
from ensample.types import CountArray, IntArray

__all__ = ["pseudo_reward_history", "unplayed"]


@kernel
def unplayed(basis: IntArray, pulls: IntArray | CountArray, t: int) -> int:
    """An arm of the basis that has no reward yet, in turn; -1 if there is none."""
    waiting = basis[pulls[basis] == 0]
    return waiting[t % waiting.size] if waiting.size > 0 else -1


@kernel
def pseudo_reward_history(world: World, track: Track, a: float, basis: IntArray, noise_rng: Generator, rng: Generator) -> None:
    """theta = V^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2); the division by a + 1 changes no argmax."""
    rows, d = world.features.shape
    total = np.zeros(d)
    theta = np.zeros(d)
    for t in range(begin(world, track, noise_rng), track.checkpoints[-1]):
        if stopped(track, t):
            return
        arm = unplayed(basis, track.pulls, t)
        if arm >= 0:
            pull(world, track, t, arm, noise_rng)
            continue
        total[:] = 0.0
        for k in range(rows):
            if track.pulls[k] > 0:
                heads = rng.binomial(int(np.ceil(a * track.pulls[k])), 0.5)
                for i in range(d):
                    total[i] += heads * world.features[k, i]
        perturbed(track, total, 1.0, theta)
        pull(world, track, t, greedy_arm(world, track, theta), noise_rng)
