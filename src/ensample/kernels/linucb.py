"""Optimism on finitely many arms: argmax_k x_k'theta_hat + beta |x_k|_{V^-1}.

A simulated run keeps the squared widths w_k = x_k'V^-1 x_k up to date by the rank-one formula, O(K d) a round, and computes
them anew whenever V^-1 is. Equal arms have equal scores to the last bit, so that the lowest index wins.
"""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.lazy import Inflation, inflation
from ensample.kernels.ridge import view
from ensample.kernels.rows import argmax, dot, sum_rows
from ensample.kernels.world import Track, World, begin, due, pull, stopped, warm
from ensample.types import FloatArray

__all__ = ["linucb", "optimistic_arm"]


@kernel
def optimistic_arm(state: FloatArray, by_coordinate: FloatArray, beta: float) -> int:
    """The arm of a live policy; `by_coordinate` is [d, K]. O(K d^2)."""
    ridge = view(state)
    scores = np.empty(by_coordinate.shape[1])
    widths = np.empty(by_coordinate.shape[1])
    square_widths(ridge.inverse, by_coordinate, widths)
    sum_rows(scores, by_coordinate, ridge.mean)
    return most_promising(scores, widths, beta)


@kernel
def square_widths(inverse: FloatArray, by_coordinate: FloatArray, widths: FloatArray) -> None:
    """w_k = x_k'V^-1 x_k."""
    turned = np.empty(widths.size)
    widths[:] = 0.0
    for i in range(inverse.shape[0]):
        sum_rows(turned, by_coordinate, inverse[i])
        for k in range(widths.size):
            widths[k] += by_coordinate[i, k] * turned[k]


@kernel
def most_promising(scores: FloatArray, widths: FloatArray, beta: float) -> int:
    """argmax_k scores[k] + beta sqrt(w_k); changes `scores`."""
    for k in range(scores.size):
        scores[k] += beta * np.sqrt(max(widths[k], 0.0))
    return argmax(scores)


@kernel
def begin_watching(world: World, track: Track, rng: Generator) -> tuple[int, float]:
    """As `begin`, with the largest |theta_hat|^2 on the way."""
    largest = 0.0
    for row in world.warmup:
        warm(world, track, row, rng)
        largest = max(largest, dot(track.mean, track.mean))
    first = min(world.opening.size, track.checkpoints[-1])
    for t in range(first):
        pull(world, track, t, world.opening[t], rng)
        largest = max(largest, dot(track.mean, track.mean))
    return first, largest


@kernel
def linucb(world: World, track: Track, factor: Inflation, watched: bool, rng: Generator) -> None:
    """beta_t = factor_t or, where `watched`, factor_t + sqrt(lam) times the largest |theta_hat| so far."""
    d, arms = world.by_coordinate.shape
    widths = np.zeros(arms)
    gains = np.zeros(arms)
    largest = 0.0  # squared
    if watched:
        first, largest = begin_watching(world, track, rng)
    else:
        first = begin(world, track, rng)
    square_widths(track.inverse, world.by_coordinate, widths)
    for t in range(first, track.checkpoints[-1]):
        if stopped(track, t):
            return
        beta = inflation(factor, track, world.warmup.size + t, d) + np.sqrt(track.lam * largest)
        sum_rows(track.scores, world.by_coordinate, track.mean)
        pull(world, track, t, most_promising(track.scores, widths, beta), rng)
        if watched:
            largest = max(largest, dot(track.mean, track.mean))
        if due(track, t):
            square_widths(track.inverse, world.by_coordinate, widths)
        else:
            sum_rows(gains, world.by_coordinate, track.gain)
            for k in range(arms):
                widths[k] -= gains[k] * gains[k] / (1.0 + track.sums[4])
