"""Ensemble sampling on arms that change every round, or on the unit ball.

The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0, scale^2 (V_now - V_then)). V_then is
kept for each touched member and the difference factored by a Cholesky that allows zero pivots: O(d^3) a round, whatever m is.
"""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.draws import draw_sum, draw_vector
from ensample.kernels.ridge import root
from ensample.kernels.rows import axpy
from ensample.kernels.scene import Scene, first_moment, offer, play
from ensample.kernels.slots import find_slot, new_slots
from ensample.kernels.track import Rngs, Track, perturbed, stopped
from ensample.kernels.turns import Ensemble, next_member
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, looks_at_all
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


def no_lazy_law(recipe: EnsembleSampling) -> str:
    """Only a Gaussian law has one."""
    gaussian = type(recipe.reward_law) is Gaussian
    return looks_at_all(recipe) or ("" if gaussian else f"no lazy law is known for {recipe.reward_law!r} on moving arms")


@simulates(EnsembleSampling, Scene, Evaluation.LAZY, unless=no_lazy_law)
def lazily(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    lazy_moving(scene, track, ensemble_of(recipe), Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context))


@simulates(EnsembleSampling, Scene, Evaluation.EAGER, unless=looks_at_all)
def eagerly(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    eager_moving(scene, track, ensemble_of(recipe), Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context))


@kernel
def lazy_moving(scene: Scene, track: Track, ensemble: Ensemble, rngs: Rngs) -> None:
    """Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts."""
    d, horizon, laws = scene.theta.size, track.checkpoints[-1], ensemble.laws
    capacity = min(ensemble.size, horizon)
    table = new_slots(capacity)
    sums = np.empty((capacity, d))
    grams = np.empty((capacity, d, d))  # V when the member last acted
    difference = np.empty((d, d))
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
            draw_vector(laws.initial, total, rngs.perturbation)
            for i in range(d):
                for k in range(d):
                    grams[slot, i, k] = track.lam if i == k else 0.0
        for i in range(d):
            for k in range(d):
                difference[i, k] = moment.gram[i, k] - grams[slot, i, k]
                grams[slot, i, k] = moment.gram[i, k]
        root(difference)
        for k in range(d):
            axpy(total[k:], laws.reward.scale * rngs.perturbation.standard_normal(), difference[k, k:])
        perturbed(track, total, 1.0, moment.theta)
        play(scene, track, moment, t, rngs.noise)


@kernel
def eager_moving(scene: Scene, track: Track, ensemble: Ensemble, rngs: Rngs) -> None:
    """Algorithm 1 with all members kept up to date."""
    sums = np.empty((ensemble.size, scene.theta.size))
    for j in range(ensemble.size):
        draw_vector(ensemble.laws.initial, sums[j], rngs.perturbation)
    moment = first_moment(scene, track)
    member = -1
    for t in range(track.checkpoints[-1]):
        if stopped(track):
            return
        offer(scene, moment, rngs.context)
        member = next_member(ensemble, t, member, rngs.member)
        perturbed(track, sums[member], 1.0, moment.theta)
        play(scene, track, moment, t, rngs.noise)
        for j in range(ensemble.size):
            axpy(sums[j], draw_sum(ensemble.laws.reward, 1, rngs.perturbation), moment.x)
