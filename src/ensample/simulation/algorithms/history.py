"""Models drawn anew each round: LinPHE, Thompson sampling and ensemble sampling with fresh members.

The first of a round's exchangeable members acts, so that only it is drawn: a round costs the same for every size.
"""

import math

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.draws import GAUSSIAN_LAW, Law, Laws, draw_sum, draw_vector
from ensample.kernels.fresh import AGE_OF_PRIOR, add_observed, shrink_roots
from ensample.kernels.inflation import Inflation, inflation
from ensample.kernels.ridge import root as root_of
from ensample.kernels.ridge import rotate
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import write
from ensample.kernels.scene import Scene, first_moment, offer, play
from ensample.kernels.track import Track, forgets, learns, perturbed, stopped
from ensample.kernels.world import World, begin, greedy_arm, opening_rounds, prescribed, pull
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling, PerturbedHistory, ThompsonSampling
from ensample.randomness import RunGenerators
from ensample.simulation.codes import (
    factor_of,
    laws_of,
    no_constant,
    remembers_all,
    unknown_laws,
    unknown_parts,
    why_not_fresh,
)
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import FloatArray

__all__ = ["add_to_roots", "draw_aged_sum"]


@simulates(PerturbedHistory, World, Evaluation.EAGER, unless=unknown_laws)
def linphe_on_arms(recipe: PerturbedHistory, world: World, track: Track, rngs: RunGenerators) -> None:
    laws, drawn = laws_of(recipe), Rngs(rngs.noise, perturbation=rngs.perturbation)
    if laws.reward.kind == GAUSSIAN_LAW:
        gaussian_history(world, track, laws, factor_of(recipe), False, 0.0, drawn)
    else:
        summed_history(world, track, laws, factor_of(recipe), drawn)


def not_gaussian(recipe: PerturbedHistory) -> str:
    gaussian = type(recipe.reward_law) is Gaussian
    return (
        remembers_all(recipe)
        or unknown_laws(recipe)
        or ("" if gaussian else f"without standing arms {recipe.reward_law!r} has no sums to draw")
    )


@simulates(PerturbedHistory, Scene, Evaluation.EAGER, unless=not_gaussian)
def linphe_on_moving_arms(recipe: PerturbedHistory, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    moving_history(scene, track, laws_of(recipe), factor_of(recipe), 0.0, drawn)


@simulates(ThompsonSampling, World, Evaluation.EAGER)
def thompson_on_arms(recipe: ThompsonSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    gaussian_history(world, track, unit_laws(recipe), recipe.factor, recipe.adaptive, 0.0, drawn)


def adaptive(recipe: ThompsonSampling) -> str:
    return remembers_all(recipe) or (
        "kernels on moving arms do not follow the rewards' standard deviation" if recipe.adaptive else ""
    )


@simulates(ThompsonSampling, Scene, Evaluation.EAGER, unless=adaptive)
def thompson_on_moving_arms(recipe: ThompsonSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    moving_history(scene, track, unit_laws(recipe), recipe.factor, 0.0, drawn)


def not_fresh(recipe: EnsembleSampling) -> str:
    return unknown_parts(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, World, Evaluation.LAZY, unless=not_fresh)
def fresh_members_on_arms(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    gaussian_history(world, track, laws_of(recipe), factor_of(recipe), False, recipe.ageing_rate, drawn)


def not_fresh_on_moving_arms(recipe: EnsembleSampling) -> str:
    return remembers_all(recipe) or no_constant(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, Scene, Evaluation.LAZY, unless=not_fresh_on_moving_arms)
def fresh_members_on_moving_arms(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    moving_history(scene, track, laws_of(recipe), factor_of(recipe), recipe.ageing_rate, drawn)


def unit_laws(recipe: ThompsonSampling) -> Laws:
    """W + sum_i X_i Z_i ~ N(0, V); without the prior's part in W where that is learned."""
    return Laws(Law(GAUSSIAN_LAW, 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam)), Law(GAUSSIAN_LAW, 1, 1.0))


@kernel
def gaussian_history(
    world: World, track: Track, laws: Laws, factor: Inflation, adaptive: bool, ageing: float, rngs: Rngs
) -> None:
    """theta = theta_hat + factor_t V^-1 (W + scale R'g), g ~ N(0, I), R'R = sum x x': O(d^2) a round.

    The t of factor_t is the number of observations, the warm-up's included. `adaptive` multiplies it by the standard deviation
    of the rewards so far. With `ageing`, the rate of `kernels.fresh`, R'R is larger for old observations, and W with it.
    """
    rows, d = world.features.shape
    root, gram_root = np.zeros((d, d)), np.zeros((d if ageing > 0.0 else 0, d))
    ages = np.zeros(2)
    total = np.zeros(d)
    theta = np.zeros(d)
    if ageing > 0.0:  # observations age in their order
        first = opening_rounds(world, track)
        for i in range(world.warmup.size + first):
            prescribed(world, track, i, rngs.noise)
            row = world.warmup[i] if i < world.warmup.size else world.opening[i - world.warmup.size]
            add_to_roots(track, root, gram_root, ages, ageing, world.features[row])
    else:
        first = begin(world, track, rngs.noise)
        if forgets(track):
            for i in range(d):
                write(root[i], track.gram[i])
            root_of(root)
        else:
            for k in range(rows):
                for _ in range(track.pulls[k]):
                    rotate(root, world.features[k])
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        draw_aged_sum(track, laws, root, ages, total, rngs.perturbation)
        seen = world.warmup.size + t
        size = inflation(factor, track, seen)
        perturbed(track, total, size * reward_deviation(track, seen) if adaptive else size, theta)
        arm = greedy_arm(world, track, theta)
        pull(world, track, t, arm, rngs.noise)
        add_to_roots(track, root, gram_root, ages, ageing, world.features[arm])


@kernel
def add_to_roots(track: Track, root: FloatArray, gram_root: FloatArray, ages: FloatArray, ageing: float, x: FloatArray) -> None:
    """Add the last observation to the roots."""
    if forgets(track):
        shrink_roots(root, gram_root, ages, track.rate)
    add_observed(root, gram_root, ages, ageing, x, track.tally.count, track.rate)


@kernel
def draw_aged_sum(track: Track, laws: Laws, root: FloatArray, ages: FloatArray, total: FloatArray, rng: Generator) -> None:
    """Draw W + scale R'g; W is for the present prior where that is learned."""
    draw_initial(track, laws.initial, total, rng)
    d = total.size
    if ages[AGE_OF_PRIOR] > 0.0:
        for i in range(d):
            total[i] *= np.sqrt(1.0 + ages[AGE_OF_PRIOR])
    for i in range(d):
        weight = laws.reward.scale * rng.standard_normal()
        for k in range(i, d):
            total[k] += weight * root[i, k]


@embedded
def draw_initial(track: Track, law: Law, total: FloatArray, rng: Generator) -> None:
    """W, for the prior of the moment where that is learned."""
    draw_vector(law, total, rng)
    if learns(track):
        for i in range(total.size):
            total[i] *= track.prior_root[i]


@embedded
def reward_deviation(track: Track, n: int) -> float:
    """The standard deviation of the n rewards so far, n in its denominator; 0 for none."""
    if n == 0:
        return 0.0
    mean = track.tally.rewards / n
    return np.sqrt(max(0.0, track.tally.squares / n - mean * mean))


@kernel
def summed_history(world: World, track: Track, laws: Laws, factor: Inflation, rngs: Rngs) -> None:
    """theta = theta_hat + V^-1 (W + sum_k x_k G_k), G_k the sum of N_k draws: O(K d) a round where that sum is one step."""
    rows, d = world.features.shape
    total = np.zeros(d)
    theta = np.zeros(d)
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        draw_initial(track, laws.initial, total, rngs.perturbation)
        for k in range(rows):
            if track.pulls[k] > 0:
                weight = draw_sum(laws.reward, track.pulls[k], rngs.perturbation)
                for i in range(d):
                    total[i] += weight * world.features[k, i]
        perturbed(track, total, inflation(factor, track, t), theta)
        pull(world, track, t, greedy_arm(world, track, theta), rngs.noise)


@kernel
def moving_history(scene: Scene, track: Track, laws: Laws, factor: Inflation, ageing: float, rngs: Rngs) -> None:
    """`gaussian_history` on arms that change every round, or on the unit ball."""
    d = scene.theta.size
    root, gram_root = np.zeros((d, d)), np.zeros((d if ageing > 0.0 else 0, d))
    ages, total = np.zeros(2), np.zeros(d)
    moment = first_moment(scene, track)
    for t in range(track.checkpoints[-1]):
        if stopped(track):
            return
        offer(scene, moment, rngs.context)
        draw_aged_sum(track, laws, root, ages, total, rngs.perturbation)
        perturbed(track, total, inflation(factor, track, t), moment.theta)
        play(scene, track, moment, t, rngs.noise)
        add_to_roots(track, root, gram_root, ages, ageing, moment.x)
