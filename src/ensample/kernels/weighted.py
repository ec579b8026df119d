"""A simulated round of a generalised linear model by the stream fit, on finitely many arms.

As `world.pull`, with an implicit step (`kernels.stream`) for Sherman-Morrison's: V is prior + sum_k c_k x_k x_k' with c_k
the sum of the weights of arm k's observations, from which it can be had again at any time.
"""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.links import curve_at
from ensample.kernels.noise import draw_reward
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.kernels.stream import LEAST_WEIGHT, implicit
from ensample.kernels.track import Track, adopt, due, note, note_growth
from ensample.kernels.world import World, best_mean, mean_of, opening_rounds
from ensample.types import FloatArray

__all__ = ["begin_weighted", "learn_weighted", "observe_weighted", "pull_weighted"]


@embedded
def observe_weighted(track: Track, link: int, x: FloatArray, y: float) -> float:
    """An implicit step of theta_hat, V += w x x' and V^-1 by Sherman-Morrison; returns w."""
    gain, tally = track.gain, track.tally
    sum_rows(gain, track.inverse, x)
    q = dot(gain, x)
    v = implicit(link, dot(track.mean, x), q, y)
    surplus, slope, _ = curve_at(link, v, y)
    w = max(slope, LEAST_WEIGHT)
    axpy(track.mean, -surplus, gain)
    axpy(track.target, w * v - surplus, x)
    add_outer(track.inverse, -w / (1.0 + w * q), gain, gain)
    note_growth(tally, w * q)
    tally.rewards += y
    tally.squares += y * y
    tally.leverage = w * q
    tally.count += 1.0
    return w


@kernel
def refresh_weighted(world: World, track: Track, weights: FloatArray) -> None:
    """V^-1 and theta_hat anew from the arms' weights and b."""
    rows, d = world.features.shape
    gram = np.zeros((d, d))
    for k in range(rows):
        if weights[k] > 0.0:
            add_outer(gram, weights[k], world.features[k], world.features[k])
    for i in range(d):
        gram[i, i] += track.prior[i]
    adopt(track, gram)


@embedded
def learn_weighted(
    world: World, track: Track, link: int, weights: FloatArray, t: int, row: int, mean: float, rng: Generator
) -> float:
    """Draw the reward of a row of features in round t and learn from it; `weights` [K + W] are the c_k. Returns w."""
    y = draw_reward(world.noise, mean, world.spreads[row], rng)
    track.pulls[row] += 1
    w = observe_weighted(track, link, world.features[row], y)
    weights[row] += w
    if due(track, t):
        refresh_weighted(world, track, weights)
    return w


@embedded
def pull_weighted(world: World, track: Track, link: int, weights: FloatArray, t: int, arm: int, rng: Generator) -> float:
    """Play an arm in round t and learn from it; returns the weight of the observation."""
    mean = mean_of(world, t, arm)
    w = learn_weighted(world, track, link, weights, t, arm, mean, rng)
    note(track, t, best_mean(world, t) - mean)
    return w


@borrowing
def begin_weighted(world: World, track: Track, link: int, weights: FloatArray, rng: Generator) -> int:
    """The warm-up and the opening; returns the first round in which the algorithm may choose."""
    first = opening_rounds(world, track)
    for row in world.warmup:
        learn_weighted(world, track, link, weights, 0, row, world.means[row], rng)
    for t in range(first):
        pull_weighted(world, track, link, weights, t, world.opening[t], rng)
    return first
