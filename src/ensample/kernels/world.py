"""A simulated run on finitely many arms: what it faces, and one round of it.

Every algorithm's kernel is a loop around `pull`. V is lam I + sum_k N_k x_k x_k' with whole pull counts N_k, from which it can
be had again at any time. Where the past fades it is had anew every round, from a sum that fades (`track.observe_fading`).
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.noise import draw_reward
from ensample.kernels.rows import add_outer, argmax, sum_rows
from ensample.kernels.track import (
    Track,
    adopt,
    aligned,
    calibrate,
    due,
    forgets,
    from_origin,
    note,
    observe,
    observe_fading,
    unlearned,
)
from ensample.types import FloatArray, IntArray

__all__ = ["World", "begin", "greedy_arm", "opening_rounds", "prescribed", "pull", "with_constant"]


class World(NamedTuple):
    """A problem as arrays. Rows of `features` past K are seen in the warm-up only and never on offer."""

    features: FloatArray  # [K + W, d]
    by_coordinate: FloatArray  # [d, K]
    means: FloatArray  # [K + W]
    spreads: FloatArray  # [K + W] standard deviation of the noise
    noise: int  # a kind of `kernels.noise`
    best: float  # the largest mean on offer
    warmup: IntArray  # rows of `features` observed before the first round
    opening: IntArray  # arms that the first rounds must play
    path: FloatArray  # where the truth moves: its means, one after the other [P, K]
    summits: FloatArray  # the largest of each [P]
    stay: int  # for how many rounds each holds; 0: the truth does not move


def with_constant(world: World) -> World:
    """The same problem with a last feature that is 1. To the choice among arms it is 0, as it is the same for all."""
    d, arms = world.by_coordinate.shape
    (by_coordinate,) = aligned((d + 1, arms))
    by_coordinate[:d] = world.by_coordinate
    features = np.hstack([world.features, np.ones((len(world.features), 1))])
    return world._replace(features=features, by_coordinate=by_coordinate)


@kernel
def refresh(world: World, track: Track) -> None:
    """V^-1 and theta_hat anew from the pull counts and b."""
    rows, d = world.features.shape
    gram = np.zeros((d, d))
    for k in range(rows):
        if track.pulls[k] > 0:
            add_outer(gram, track.pulls[k], world.features[k], world.features[k])
    for i in range(d):
        gram[i, i] += track.prior[i]
    adopt(track, gram)


@kernel
def learn_scales(world: World, track: Track) -> None:
    """The scales of noise and parameter anew, from the pull counts, b and the squares of the rewards."""
    for k in range(track.counted.size):
        if track.pulls[k] != track.counted[k]:
            add_outer(track.gram, track.pulls[k] - track.counted[k], world.features[k], world.features[k])
            track.counted[k] = track.pulls[k]
    calibrate(track, track.gram.copy())


@embedded
def mean_of(world: World, t: int, arm: int) -> float:
    """E[Y] of an arm in round t."""
    return world.path[t // world.stay, arm] if world.stay > 0 else world.means[arm]


@embedded
def best_mean(world: World, t: int) -> float:
    """The largest of them on offer."""
    return world.summits[t // world.stay] if world.stay > 0 else world.best


@embedded
def learn(world: World, track: Track, t: int, row: int, mean: float, rng: Generator) -> float:
    """Draw the reward of a row of features in round t and learn from it; returns it as it was learned."""
    y = from_origin(track, draw_reward(world.noise, mean, world.spreads[row], rng))
    track.pulls[row] += 1
    if forgets(track):
        observe_fading(track, world.features[row], y)
    else:
        observe(track, world.features[row], y)
        if unlearned(track):
            learn_scales(world, track)
        elif due(track, t):
            refresh(world, track)
    return y


@embedded
def pull(world: World, track: Track, t: int, arm: int, rng: Generator) -> float:
    """Play an arm in round t and learn from it; returns the reward as it was learned."""
    mean = mean_of(world, t, arm)
    y = learn(world, track, t, arm, mean, rng)
    note(track, t, best_mean(world, t) - mean)
    return y


@borrowing
def prescribed(world: World, track: Track, i: int, rng: Generator) -> float:
    """Observation i of those that nobody chooses: the warm-up's, which are no rounds, and then the opening's; its reward."""
    t = i - world.warmup.size
    row = world.warmup[i] if t < 0 else world.opening[t]
    mean = world.means[row] if t < 0 else mean_of(world, t, row)
    y = learn(world, track, max(t, 0), row, mean, rng)  # in one place: it is long
    if t >= 0:
        note(track, t, best_mean(world, t) - mean)
    return y


@embedded
def opening_rounds(world: World, track: Track) -> int:
    """How many rounds have their arm prescribed."""
    return min(world.opening.size, track.checkpoints[-1])


@borrowing
def begin(world: World, track: Track, rng: Generator) -> int:
    """The warm-up and the opening; returns the first round in which the algorithm may choose."""
    first = opening_rounds(world, track)
    for i in range(world.warmup.size + first):
        prescribed(world, track, i, rng)
    return first


@embedded
def greedy_arm(world: World, track: Track, theta: FloatArray) -> int:
    """argmax_k x_k'theta among the arms on offer, the lowest index on ties."""
    sum_rows(track.scores, world.by_coordinate, theta)
    return argmax(track.scores)
