"""A simulated run on finitely many arms: what it faces, what it keeps, and one round of it.

Every algorithm's kernel is a loop around `pull`. V is lam I + sum_k N_k x_k x_k' with whole pull counts N_k, so V^-1, which
follows by Sherman-Morrison, can be recomputed from the counts now and then and does not drift.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.lanes import BLOCK
from ensample.kernels.ridge import invert
from ensample.kernels.rows import add_outer, argmax, axpy, dot, sum_rows
from ensample.types import CountArray, FloatArray, IntArray

__all__ = [
    "BERNOULLI",
    "GAUSSIAN",
    "SIGNS",
    "Track",
    "World",
    "adopt",
    "aligned",
    "begin",
    "due",
    "greedy_arm",
    "information",
    "new_track",
    "note",
    "observe",
    "pull",
    "stopped",
    "warm",
]

GAUSSIAN, BERNOULLI, SIGNS = 0, 1, 2  # kinds of noise
LINE = 8  # numbers in a cache line
REFRESH = 2048  # observations between two recomputations of V^-1
MANY = 1e3  # growth of det V after which its logarithm is taken
STEEP = 1e4  # or at once where Sherman-Morrison would cancel four digits


class World(NamedTuple):
    """A problem as arrays. Rows of `features` past K are seen in the warm-up only and never on offer."""

    features: FloatArray  # [K + W, d]
    by_coordinate: FloatArray  # [d, K]
    means: FloatArray  # [K + W]
    spreads: FloatArray  # [K + W] standard deviation of the noise
    noise: int  # GAUSSIAN, BERNOULLI or SIGNS
    best: float  # the largest mean on offer
    warmup: IntArray  # rows of `features` observed before the first round
    opening: IntArray  # arms that the first rounds must play


class Track(NamedTuple):
    """A run's ridge estimate and its record."""

    lam: float
    inverse: FloatArray  # V^-1 [d, d]
    mean: FloatArray  # theta_hat [d]
    target: FloatArray  # b [d]
    pulls: CountArray  # [K + W], and zeros up to a multiple of BLOCK
    gain: FloatArray  # V^-1 x of the last observation, as it was before it [d]
    sums: FloatArray  # regret, log of det V's growth, sum of rewards, of their squares, leverage of the last x, growth since
    checkpoints: IntArray  # [C] rounds after which the regret is noted
    regret: FloatArray  # [C]
    noted: IntArray  # [1] how many of them have been
    scores: FloatArray  # scratch [K]
    stop: IntArray  # [1] not 0: give up, the user has had enough


def aligned(*shapes: tuple[int, ...]) -> list[FloatArray]:
    """Arrays of zeros that begin with a cache line each: rows that straddle lines take half as long again to read."""
    sizes = [math.prod(shape) for shape in shapes]
    room = np.zeros(sum(sizes) + LINE * (1 + len(sizes)))
    start = -room.ctypes.data // 8 % LINE
    arrays = []
    for shape, size in zip(shapes, sizes, strict=True):
        arrays.append(room[start : start + size].reshape(shape))
        start += -(-size // LINE) * LINE
    return arrays


def new_track(dim: int, rows: int, arms: int, lam: float, checkpoints: IntArray, stop: IntArray) -> Track:
    """A run before its first round, on `arms` arms on offer and `rows` in all."""
    inverse, mean, target, gain, scores = aligned((dim, dim), (dim,), (dim,), (dim,), (arms,))
    np.fill_diagonal(inverse, 1.0 / lam)
    return Track(
        lam=lam,
        inverse=inverse,
        mean=mean,
        target=target,
        pulls=np.zeros(-(-rows // BLOCK) * BLOCK, np.int32),
        gain=gain,
        sums=np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        checkpoints=checkpoints,
        regret=np.full(checkpoints.size, np.nan),
        noted=np.zeros(1, np.int64),
        scores=scores,
        stop=stop,
    )


@embedded
def draw_reward(world: World, arm: int, rng: Generator) -> float:
    if world.noise == BERNOULLI:
        return 1.0 if rng.random() < world.means[arm] else 0.0
    if world.noise == SIGNS:
        return world.means[arm] + (world.spreads[arm] if rng.random() < 0.5 else -world.spreads[arm])
    return world.means[arm] + world.spreads[arm] * rng.standard_normal()


@embedded
def observe(track: Track, x: FloatArray, y: float) -> None:
    """V += x x', b += x y; V^-1 and theta_hat by Sherman-Morrison."""
    gain = track.gain
    sum_rows(gain, track.inverse, x)
    leverage = dot(gain, x)
    weight = 1.0 / (1.0 + leverage)
    axpy(track.mean, weight * (y - dot(track.mean, x)), gain)
    axpy(track.target, y, x)
    add_outer(track.inverse, -weight, gain, gain)
    note_growth(track, leverage)
    track.sums[2] += y
    track.sums[3] += y * y
    track.sums[4] = leverage


@embedded
def note_growth(track: Track, leverage: float) -> None:
    """det V grows by 1 + leverage; its logarithm is taken once in many rounds."""
    track.sums[5] *= 1.0 + leverage
    if track.sums[5] > MANY:
        track.sums[1] += np.log(track.sums[5])
        track.sums[5] = 1.0


@embedded
def information(track: Track) -> float:
    """log(det V / lam^d)."""
    return track.sums[1] + np.log(track.sums[5])


@embedded
def due(track: Track, t: int) -> bool:
    """Whether V^-1 is to be recomputed after round t."""
    return (t + 1) % REFRESH == 0 or track.sums[4] > STEEP


@kernel
def adopt(track: Track, gram: FloatArray) -> None:
    """V^-1 and theta_hat anew from V and b; nothing changes where V is singular to working precision."""
    fresh = invert(gram)
    if fresh.size > 0:
        track.inverse[:] = fresh
        sum_rows(track.mean, fresh, track.target)


@kernel
def refresh(world: World, track: Track) -> None:
    """V^-1 and theta_hat anew from the pull counts and b."""
    rows, d = world.features.shape
    gram = np.zeros((d, d))
    for k in range(rows):
        if track.pulls[k] > 0:
            add_outer(gram, track.pulls[k], world.features[k], world.features[k])
    for i in range(d):
        gram[i, i] += track.lam
    adopt(track, gram)


@embedded
def note(track: Track, t: int) -> None:
    """Write down the regret after round t if a checkpoint is there. Checkpoints ascend and end with the horizon."""
    place = track.noted[0]
    if track.checkpoints[place] == t + 1:
        track.regret[place] = track.sums[0]
        track.noted[0] += 1


@embedded
def pull(world: World, track: Track, t: int, arm: int, rng: Generator) -> float:
    """Play an arm in round t and learn from it; returns the reward."""
    y = draw_reward(world, arm, rng)
    observe(track, world.features[arm], y)
    track.pulls[arm] += 1
    if due(track, t):
        refresh(world, track)
    track.sums[0] += world.best - world.means[arm]
    note(track, t)
    return y


@borrowing
def warm(world: World, track: Track, row: int, rng: Generator) -> None:
    """One observation of the warm-up."""
    observe(track, world.features[row], draw_reward(world, row, rng))
    track.pulls[row] += 1
    if track.sums[4] > STEEP:
        refresh(world, track)


@borrowing
def begin(world: World, track: Track, rng: Generator) -> int:
    """The warm-up and the opening; returns the first round in which the algorithm may choose."""
    for row in world.warmup:
        warm(world, track, row, rng)
    for t in range(min(world.opening.size, track.checkpoints[-1])):
        pull(world, track, t, world.opening[t], rng)
    return min(world.opening.size, track.checkpoints[-1])


@embedded
def stopped(track: Track, t: int) -> bool:
    """Whether the user has had enough."""
    return track.stop[0] != 0


@embedded
def greedy_arm(world: World, track: Track, theta: FloatArray) -> int:
    """argmax_k x_k'theta among the arms on offer, the lowest index on ties."""
    sum_rows(track.scores, world.by_coordinate, theta)
    return argmax(track.scores)
