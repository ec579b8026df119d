"""Ensemble sampling on arms that change every round, or on the unit ball.

The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0, scale^2 (V_now - V_then)). V_then is
kept for each touched member and the difference factored by a Cholesky that allows zero pivots: O(d^3) a round, whatever m is.
"""

import numpy as np

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.draws import draw_sum, draw_vector
from ensample.kernels.inflation import Inflation, inflation
from ensample.kernels.ridge import root
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import axpy
from ensample.kernels.scene import Scene, first_moment, offer, play
from ensample.kernels.slots import find_slot, new_slots
from ensample.kernels.track import Track, learns, perturbed, stopped
from ensample.kernels.turns import Ensemble, next_member
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, factor_of, no_constant, remembers_all, why_not_stored
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import FloatArray

__all__: list[str] = []


def no_moving_law(recipe: EnsembleSampling) -> str:
    return remembers_all(recipe) or no_constant(recipe) or why_not_stored(recipe)


def no_lazy_law(recipe: EnsembleSampling) -> str:
    """Only a Gaussian law has one."""
    gaussian = type(recipe.reward_law) is Gaussian
    return no_moving_law(recipe) or ("" if gaussian else f"no lazy law is known for {recipe.reward_law!r} on moving arms")


@simulates(EnsembleSampling, Scene, Evaluation.LAZY, unless=no_lazy_law)
def lazily(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    lazy_moving(scene, track, ensemble_of(recipe), factor_of(recipe), drawn)


@simulates(EnsembleSampling, Scene, Evaluation.EAGER, unless=no_moving_law)
def eagerly(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    eager_moving(scene, track, ensemble_of(recipe), factor_of(recipe), drawn)


@kernel
def lazy_moving(scene: Scene, track: Track, ensemble: Ensemble, factor: Inflation, rngs: Rngs) -> None:
    """Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts."""
    d, horizon, laws = scene.theta.size, track.checkpoints[-1], ensemble.laws
    capacity = min(ensemble.size, horizon)
    table = new_slots(capacity)
    sums, initial = np.zeros((capacity, d)), np.zeros((capacity, d))
    grams = np.empty((capacity, d, d))  # V without its prior when the member last acted
    difference, whole = np.empty((d, d)), np.empty(d)
    moment = first_moment(scene, track)
    used = 0
    member = -1
    for t in range(horizon):
        if stopped(track):
            return
        offer(scene, moment, rngs.context)
        member = next_member(ensemble, t, member, rngs.member)
        slot = find_slot(table, used, member)
        total = sums[slot]
        if slot == used:
            used += 1
            draw_vector(laws.initial, initial[slot], rngs.perturbation)
            for i in range(d):
                for k in range(d):
                    grams[slot, i, k] = 0.0
        for i in range(d):
            for k in range(d):
                learned = moment.gram[i, k] - (track.prior[i] if i == k else 0.0)
                difference[i, k] = learned - grams[slot, i, k]
                grams[slot, i, k] = learned
        root(difference)
        for k in range(d):
            axpy(total[k:], laws.reward.scale * rngs.perturbation.standard_normal(), difference[k, k:])
        whole_of(track, total, initial[slot], whole)
        perturbed(track, whole, inflation(factor, track, t), moment.theta)
        play(scene, track, moment, t, rngs.noise)


@embedded
def whole_of(track: Track, total: FloatArray, initial: FloatArray, whole: FloatArray) -> None:
    """W^j + sum_i X_i Z_i^j, W^j for the prior of the moment where that is learned."""
    for i in range(whole.size):
        whole[i] = total[i] + (track.prior_root[i] if learns(track) else 1.0) * initial[i]


@kernel
def eager_moving(scene: Scene, track: Track, ensemble: Ensemble, factor: Inflation, rngs: Rngs) -> None:
    """Algorithm 1 with all members kept up to date."""
    sums, initial = np.zeros((ensemble.size, scene.theta.size)), np.zeros((ensemble.size, scene.theta.size))
    whole = np.empty(scene.theta.size)
    for j in range(ensemble.size):
        draw_vector(ensemble.laws.initial, initial[j], rngs.perturbation)
    moment = first_moment(scene, track)
    member = -1
    for t in range(track.checkpoints[-1]):
        if stopped(track):
            return
        offer(scene, moment, rngs.context)
        member = next_member(ensemble, t, member, rngs.member)
        whole_of(track, sums[member], initial[member], whole)
        perturbed(track, whole, inflation(factor, track, t), moment.theta)
        play(scene, track, moment, t, rngs.noise)
        for j in range(ensemble.size):
            axpy(sums[j], draw_sum(ensemble.laws.reward, 1, rngs.perturbation), moment.x)
