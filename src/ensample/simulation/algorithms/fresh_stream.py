"""Ensemble sampling with fresh members and a generalised linear model, by the stream fit.

As `history`, in the features sqrt(w) x; W is N(0, scale^2 prior).
"""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.fresh import AGE_OF_PRIOR, add_observed
from ensample.kernels.rngs import Rngs
from ensample.kernels.scene import Scene, first_moment, offer, play_weighted
from ensample.kernels.track import Track, perturbed, stopped
from ensample.kernels.weighted import learn_weighted, pull_weighted
from ensample.kernels.world import World, greedy_arm, opening_rounds
from ensample.models import Logistic
from ensample.policies import EnsembleSampling
from ensample.randomness import RunGenerators
from ensample.simulation.algorithms.lazy_stream import no_stream_law
from ensample.simulation.codes import why_not_fresh
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import FloatArray

__all__: list[str] = []


def not_fresh(recipe: EnsembleSampling) -> str:
    return no_stream_law(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, World, Evaluation.LAZY, unless=not_fresh, model=Logistic)
def on_arms(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    assert isinstance(recipe.model, Logistic)
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    fresh_stream(world, track, recipe.model.code, recipe.unit_scale, recipe.ageing_rate, drawn)


@simulates(EnsembleSampling, Scene, Evaluation.LAZY, unless=not_fresh, model=Logistic)
def on_moving_arms(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    assert isinstance(recipe.model, Logistic)
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    fresh_moving_stream(scene, track, recipe.model.code, recipe.unit_scale, recipe.ageing_rate, drawn)


@kernel
def fresh_stream(world: World, track: Track, link: int, scale: float, ageing: float, rngs: Rngs) -> None:
    """theta = theta_hat + V^-1 S on finitely many arms."""
    rows, d = world.features.shape
    root, gram_root = np.zeros((d, d)), np.zeros((d if ageing > 0.0 else 0, d))
    ages, total, theta, weights = np.zeros(2), np.zeros(d), np.zeros(d), np.zeros(rows)
    for row in world.warmup:
        w = learn_weighted(world, track, link, weights, 0, row, world.means[row], rngs.noise)
        add_weighted(track, root, gram_root, ages, ageing, w, world.features[row])
    first = opening_rounds(world, track)
    for t in range(track.checkpoints[-1]):
        if stopped(track):
            return
        if t < first:
            arm = world.opening[t]
        else:
            draw_weighted(track, root, ages, total, rngs.perturbation)
            perturbed(track, total, scale, theta)
            arm = greedy_arm(world, track, theta)
        w = pull_weighted(world, track, link, weights, t, arm, rngs.noise)
        add_weighted(track, root, gram_root, ages, ageing, w, world.features[arm])


@kernel
def add_weighted(
    track: Track, root: FloatArray, gram_root: FloatArray, ages: FloatArray, ageing: float, w: float, x: FloatArray
) -> None:
    """Add the observation sqrt(w) x to the roots."""
    weighted = np.empty(x.size)
    for i in range(x.size):
        weighted[i] = np.sqrt(w) * x[i]
    add_observed(root, gram_root, ages, ageing, weighted, track.tally.count, 0.0)


@kernel
def draw_weighted(track: Track, root: FloatArray, ages: FloatArray, total: FloatArray, rng: Generator) -> None:
    """Draw S divided by the scale."""
    d = total.size
    for i in range(d):
        total[i] = np.sqrt(1.0 + ages[AGE_OF_PRIOR]) * track.prior_root[i] * rng.standard_normal()
    for i in range(d):
        g = rng.standard_normal()
        for k in range(i, d):
            total[k] += g * root[i, k]


@kernel
def fresh_moving_stream(scene: Scene, track: Track, link: int, scale: float, ageing: float, rngs: Rngs) -> None:
    """Play as `fresh_stream` on arms that change every round, or on the unit ball."""
    d = scene.theta.size
    root, gram_root = np.zeros((d, d)), np.zeros((d if ageing > 0.0 else 0, d))
    ages, total = np.zeros(2), np.zeros(d)
    moment = first_moment(scene, track)
    for t in range(track.checkpoints[-1]):
        if stopped(track):
            return
        offer(scene, moment, rngs.context)
        draw_weighted(track, root, ages, total, rngs.perturbation)
        perturbed(track, total, scale, moment.theta)
        w = play_weighted(scene, track, moment, link, t, rngs.noise)
        add_weighted(track, root, gram_root, ages, ageing, w, moment.x)
