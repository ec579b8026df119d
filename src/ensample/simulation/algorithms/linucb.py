"""LinUCB on finitely many arms.

A run keeps the squared widths w_k = x_k'V^-1 x_k up to date by the rank-one formula, O(K d) a round, and computes them anew
whenever V^-1 is.
"""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.inflation import Inflation, inflation
from ensample.kernels.linucb import most_promising, square_widths
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import dot, sum_rows
from ensample.kernels.track import Track, due, renewed, stopped
from ensample.kernels.world import World, begin, opening_rounds, prescribed, pull
from ensample.policies import LinUCB
from ensample.randomness import RunGenerators
from ensample.simulation.codes import remembers_all
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


def other_form(recipe: LinUCB) -> str:
    """The forms of beta_t count observations, or the growth of det V, that do not fade."""
    return remembers_all(recipe) if recipe.form != "constant" else ""


@simulates(LinUCB, World, Evaluation.EAGER, unless=other_form)
def on_arms(recipe: LinUCB, world: World, track: Track, rngs: RunGenerators) -> None:
    watched = recipe.norm is None and recipe.form != "constant"
    optimism(world, track, recipe.factor, watched, Rngs(rngs.noise))


@kernel
def begin_watching(world: World, track: Track, rng: Generator) -> tuple[int, float]:
    """As `begin`, with the largest |theta_hat|^2 on the way."""
    largest = 0.0
    first = opening_rounds(world, track)
    for i in range(world.warmup.size + first):
        prescribed(world, track, i, rng)
        largest = max(largest, dot(track.mean, track.mean))
    return first, largest


@kernel
def optimism(world: World, track: Track, factor: Inflation, watched: bool, rngs: Rngs) -> None:
    """beta_t = factor_t or, where `watched`, factor_t + sqrt(lam) times the largest |theta_hat| so far."""
    arms = world.by_coordinate.shape[1]
    widths = np.zeros(arms)
    gains = np.zeros(arms)
    largest = 0.0  # squared
    if watched:
        first, largest = begin_watching(world, track, rngs.noise)
    else:
        first = begin(world, track, rngs.noise)
    square_widths(track.inverse, world.by_coordinate, widths)
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        beta = inflation(factor, track, world.warmup.size + t) + np.sqrt(track.lam * largest)
        sum_rows(track.scores, world.by_coordinate, track.mean)
        pull(world, track, t, most_promising(track.scores, widths, beta), rngs.noise)
        if watched:
            largest = max(largest, dot(track.mean, track.mean))
        if due(track, t) or renewed(track):
            square_widths(track.inverse, world.by_coordinate, widths)
        else:
            sum_rows(gains, world.by_coordinate, track.gain)
            for k in range(arms):
                widths[k] -= gains[k] * gains[k] / (1.0 + track.tally.leverage)
