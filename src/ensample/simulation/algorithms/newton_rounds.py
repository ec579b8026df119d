"""Generalised linear recipes by the exact fit on finitely many arms: a minimisation each round, or two.

What they share: the loss is a sum over arms, and its minimiser theta_hat is followed by Newton's method from the last one. What
they do with it is their `kind`. Tolerances are wider than a live policy's: regret does not know the ninth digit.
"""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.greedy import exploration
from ensample.kernels.links import slope_at
from ensample.kernels.newton import curvature, minimise
from ensample.kernels.noise import draw_reward
from ensample.kernels.pseudo_rewards import unplayed
from ensample.kernels.ridge import invert, triangle
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_rows, axpy, dot, sum_rows
from ensample.kernels.track import Track, note, stopped
from ensample.kernels.weighted import observe_weighted
from ensample.kernels.world import World, best_mean, greedy_arm, mean_of, opening_rounds
from ensample.members import UniformMember
from ensample.models import Logistic
from ensample.policies import (
    EVILL,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    KvetonPHE,
    LinUCB,
    PerturbedHistory,
    Recipe,
    ThompsonSampling,
)
from ensample.policies.generalized import EXACT
from ensample.policies.kveton_phe import independent_rows
from ensample.randomness import RunGenerators
from ensample.simulation.codes import remembers_all
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import FloatArray, IntArray

__all__: list[str] = []

LAPLACE, LEADER, LINEAR_LOSS, PSEUDO, OPTIMIST, BLIND, MEMBERS = range(7)
NEAR = 1e-7  # the last step, in the norm of the Hessian


class Rival(NamedTuple):
    """What one of them does with theta_hat and the Hessian H."""

    kind: int
    link: int
    scale: float  # of its randomness, its radius, or a of the pseudo-rewards
    spread: float = 1.0  # of a reward
    size: int = 0  # members
    epsilon: float = 0.0
    decay: float = 0.0


def not_exact(recipe: Recipe) -> str:
    """Why it is simulated by its live policy."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != EXACT:
        return 'with Logistic() this recipe has a kernel for fit="exact" only'
    return remembers_all(recipe)


def not_uniform(recipe: EnsembleSampling) -> str:
    plain = recipe.initial is None and recipe.reward is None and type(recipe.member) is UniformMember
    return not_exact(recipe) or ("" if plain else "this kernel knows default laws and the uniform rule only")


def run(recipe: Recipe, rival: Rival, world: World, track: Track, rngs: RunGenerators) -> None:
    assert isinstance(recipe.model, Logistic)
    basis = np.zeros(0, np.int64)
    if rival.kind == PSEUDO:
        basis = independent_rows(np.ascontiguousarray(world.by_coordinate.T))
    rival = rival._replace(link=recipe.model.code, spread=recipe.model.spread)
    newton_rounds(world, track, rival, basis, Rngs(rngs.noise, rngs.member, rngs.perturbation))


@simulates(ThompsonSampling, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def laplace(recipe: ThompsonSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(LAPLACE, 0, recipe.unit_scale), world, track, rngs)


@simulates(PerturbedHistory, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def perturbed_leader(recipe: PerturbedHistory, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(LEADER, 0, recipe.unit_scale), world, track, rngs)


@simulates(EVILL, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def linear_loss(recipe: EVILL, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(LINEAR_LOSS, 0, recipe.unit_scale), world, track, rngs)


@simulates(KvetonPHE, World, Evaluation.EAGER, model=Logistic)
def pseudo_rewards(recipe: KvetonPHE, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(PSEUDO, 0, recipe.a), world, track, rngs)


@simulates(LinUCB, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def optimist(recipe: LinUCB, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(OPTIMIST, 0, recipe.factor.base), world, track, rngs)


@simulates(Greedy, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def greed(recipe: Greedy, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(BLIND, 0, 0.0), world, track, rngs)


@simulates(EpsilonGreedy, World, Evaluation.EAGER, unless=not_exact, model=Logistic)
def now_and_then(recipe: EpsilonGreedy, world: World, track: Track, rngs: RunGenerators) -> None:
    rival = Rival(BLIND, 0, 0.0, epsilon=recipe.epsilon, decay=recipe.decay or 0.0)
    run(recipe, rival, world, track, rngs)


@simulates(EnsembleSampling, World, Evaluation.EAGER, unless=not_uniform, model=Logistic)
def members(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run(recipe, Rival(MEMBERS, 0, recipe.unit_scale, size=recipe.size), world, track, rngs)


@kernel
def newton_rounds(world: World, track: Track, rival: Rival, basis: IntArray, rngs: Rngs) -> None:
    """All of them: choose, play, count; for members S^j += sqrt(w) x Z^j with w of the stream fit, as the live policy
    has it.
    """
    rows, d = world.features.shape
    counts, totals, zero, centre = np.zeros(rows), np.zeros(rows), np.zeros(d), np.zeros(d)
    sums = np.zeros((rival.size, d))
    for j in range(rival.size):
        for i in range(d):
            sums[j, i] = rival.scale * track.prior_root[i] * rngs.perturbation.standard_normal()
    first = opening_rounds(world, track)
    for number in range(world.warmup.size + track.checkpoints[-1]):
        if stopped(track):
            return
        t = number - world.warmup.size
        if t < 0:
            arm = world.warmup[number]
        elif t < first:
            arm = world.opening[t]
        else:
            minimise(rival.link, world.features, counts, totals, track.prior, zero, centre, NEAR)
            arm = chosen(world, track, rival, basis, rngs, counts, totals, centre, sums, number)
        mean = mean_of(world, max(t, 0), arm)
        y = draw_reward(world.noise, mean, world.spreads[arm], rngs.noise)
        counts[arm] += 1.0
        totals[arm] += y
        track.pulls[arm] += 1
        if rival.kind == MEMBERS:
            root = np.sqrt(observe_weighted(track, rival.link, world.features[arm], y))
            for j in range(rival.size):
                axpy(sums[j], rival.scale * root * rngs.perturbation.standard_normal(), world.features[arm])
        if t >= 0:
            note(track, t, best_mean(world, t) - mean)


@kernel
def chosen(
    world: World,
    track: Track,
    rival: Rival,
    basis: IntArray,
    rngs: Rngs,
    counts: FloatArray,
    totals: FloatArray,
    centre: FloatArray,
    sums: FloatArray,
    seen: int,
) -> int:
    """The arm of a round, after `seen` observations."""
    rows, d = world.features.shape
    arms = world.by_coordinate.shape[1]
    if rival.kind == BLIND:
        chance = exploration(rival.epsilon, rival.decay, seen)
        if chance > 0.0 and rngs.member.random() < chance:
            return int(rngs.member.random() * arms)
        return greedy_arm(world, track, centre)
    theta, shift = centre.copy(), np.zeros(d)
    if rival.kind == PSEUDO:
        arm = unplayed(basis, track.pulls, seen)
        if arm >= 0:
            return arm
        more, heads = np.empty(rows), np.empty(rows)
        for k in range(rows):
            pseudo = int(np.ceil(rival.scale * counts[k]))
            more[k] = counts[k] + pseudo
            heads[k] = totals[k] + (rngs.perturbation.binomial(pseudo, 0.5) if pseudo > 0 else 0.0)
        minimise(rival.link, world.features, more, heads, track.prior, shift, theta, NEAR)
        return greedy_arm(world, track, theta)
    slopes = np.empty(rows)
    for k in range(rows):
        slopes[k] = slope_at(rival.link, dot(world.features[k], centre))
    hessian = curvature(world.features, counts, slopes, track.prior)
    inverse = invert(hessian)
    if rival.kind == OPTIMIST:
        gain = np.empty(d)
        for k in range(arms):
            sum_rows(gain, inverse, world.features[k])
            width = np.sqrt(max(dot(gain, world.features[k]), 0.0))
            track.scores[k] = dot(world.features[k], centre) + rival.scale * width
        return int(np.argmax(track.scores))
    if rival.kind == MEMBERS:
        shift = sums[int(rngs.member.random() * rival.size)].copy()
    elif rival.kind == LEADER:
        for i in range(d):
            shift[i] = rival.scale * track.prior_root[i] * rngs.perturbation.standard_normal()
        for k in range(rows):
            if counts[k] > 0.0:
                size = rival.scale * rival.spread * np.sqrt(counts[k])
                axpy(shift, size * rngs.perturbation.standard_normal(), world.features[k])
    else:
        draws = np.empty(d)
        for i in range(d):
            draws[i] = rival.scale * rngs.perturbation.standard_normal()
        add_rows(shift, triangle(hessian), draws)
    step = np.empty(d)
    sum_rows(step, inverse, shift)
    axpy(theta, 1.0, step)
    if rival.kind != LAPLACE:
        minimise(rival.link, world.features, counts, totals, track.prior, shift, theta, NEAR)
    return greedy_arm(world, track, theta)
