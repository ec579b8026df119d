"""Ensemble sampling on finitely many arms with every member kept up to date, as the textbook has it."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.draws import Code, draw_sum, draw_vector
from ensample.kernels.lazy import perturbed
from ensample.kernels.rows import add_rows, axpy, dot, sum_rows
from ensample.kernels.turns import next_member
from ensample.kernels.world import Track, World, begin, due, greedy_arm, pull, stopped
from ensample.types import FloatArray

__all__ = ["OPTIMISTIC", "begin_ensemble", "eager_ensemble", "perturb", "score_all", "update_scores"]

OPTIMISTIC = -1  # as a value of `stay`: the member that promises most


@kernel
def begin_ensemble(
    world: World, track: Track, size: int, initial: Code, law: Code, noise_rng: Generator, rng: Generator
) -> tuple[int, FloatArray]:
    """The first free round, and W^j + sum_i X_i Z_i^j so far, a column a member [d, m]; W is drawn member by member."""
    rows, d = world.features.shape
    sums = np.empty((d, size))
    z, w = np.empty(size), np.empty(d)
    for j in range(size):
        draw_vector(initial[0], initial[1], initial[2], w, rng)
        sums[:, j] = w
    first = begin(world, track, noise_rng)
    for k in range(rows):
        for _ in range(track.pulls[k]):
            perturb(sums, world.features[k], z, law, rng)
    return first, sums


@kernel
def eager_ensemble(
    world: World,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    law: Code,
    noise_rng: Generator,
    member_rng: Generator,
    rng: Generator,
) -> None:
    """Algorithm 1, with a row of Z drawn each round."""
    first, sums = begin_ensemble(world, track, size, initial, law, noise_rng, rng)
    z = np.empty(size)
    theta = np.zeros(world.features.shape[1])
    scores = np.zeros((world.means.size, size))
    if stay == OPTIMISTIC:
        score_all(world, track, sums, scores)
    member = -1
    for t in range(first, track.checkpoints[-1]):
        if stopped(track, t):
            return
        if stay == OPTIMISTIC:
            arm = promising_arm(world, track, scores)
        else:
            member = next_member(t, size, stay, member, member_rng)
            perturbed(track, sums[:, member].copy(), 1.0, theta)
            arm = greedy_arm(world, track, theta)
        y = pull(world, track, t, arm, noise_rng)
        perturb(sums, world.features[arm], z, law, rng)
        if stay == OPTIMISTIC:
            if due(track, t):
                score_all(world, track, sums, scores)
            else:
                update_scores(world, track, scores, arm, y, z)


@kernel
def perturb(sums: FloatArray, x: FloatArray, z: FloatArray, law: Code, rng: Generator) -> None:
    """S^j += x Z^j for a fresh row Z."""
    for j in range(z.size):
        z[j] = draw_sum(law[0], law[1], law[2], 1, rng)
    for i in range(x.size):
        axpy(sums[i], x[i], z)


@kernel
def score_all(world: World, track: Track, sums: FloatArray, scores: FloatArray) -> None:
    """scores[k, j] = x_k'theta^j from scratch."""
    rows, d = world.features.shape
    for k in range(rows):
        x = world.features[k]
        u = np.empty(d)
        sum_rows(u, track.inverse, x)
        scores[k] = dot(x, track.mean)
        add_rows(scores[k], sums, u)


@kernel
def update_scores(world: World, track: Track, scores: FloatArray, arm: int, y: float, z: FloatArray) -> None:
    """After (x, y + z_j): theta^j += V^-1 x (y + z_j - x'theta^j), so scores change by a rank-one term."""
    surprise = np.empty(z.size)
    for j in range(z.size):
        surprise[j] = y + z[j] - scores[arm, j]
    for k in range(world.means.size):
        axpy(scores[k], dot(world.features[k], track.gain) / (1.0 + track.sums[4]), surprise)


@kernel
def promising_arm(world: World, track: Track, scores: FloatArray) -> int:
    """The greedy arm of the member that promises most; lowest member, then lowest arm, on ties."""
    best, best_member, top = 0, 0, -np.inf
    for k in range(world.by_coordinate.shape[1]):
        row = scores[k]
        for j in range(row.size):
            if row[j] > top or (row[j] == top and j < best_member):
                best, best_member, top = k, j, row[j]
    return best
