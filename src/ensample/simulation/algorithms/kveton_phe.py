"""LinPHE with Bernoulli pseudo-rewards on finitely many arms."""

import numpy as np

from ensample.errors import InvalidArgument
from ensample.kernels.compile import kernel
from ensample.kernels.pseudo_rewards import mixed_inverse, pseudo_count, unplayed
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_outer, dot, sum_rows
from ensample.kernels.track import Track, due, stopped
from ensample.kernels.world import World, begin, greedy_arm, pull
from ensample.policies import KvetonPHE
from ensample.policies.kveton_phe import independent_rows
from ensample.randomness import RunGenerators
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import IntArray

__all__: list[str] = []


@simulates(KvetonPHE, World, Evaluation.EAGER)
def on_arms(recipe: KvetonPHE, world: World, track: Track, rngs: RunGenerators) -> None:
    features = np.ascontiguousarray(world.by_coordinate.T)
    if len(features) < len(world.features):
        raise InvalidArgument("warmup", world.features[-1], "the features of standing arms for KvetonPHE")
    first = {x.tobytes(): k for k, x in reversed(list(enumerate(features)))}  # equal arms share their pseudo-rewards
    opening = np.array([first[features[arm].tobytes()] for arm in world.opening], np.int64)
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    pseudo_reward_history(world._replace(opening=opening), track, recipe.a, independent_rows(features), drawn)


@kernel
def pseudo_reward_history(world: World, track: Track, a: float, basis: IntArray, rngs: Rngs) -> None:
    """theta = G^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2), G as in `mixed_inverse`: O(K d + d^2) a round."""
    rows, d = world.features.shape
    total, theta, gain = np.zeros(d), np.zeros(d), np.zeros(d)
    mixed = np.zeros((0, 0))  # G^-1, once a basis was played
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        arm = unplayed(basis, track.pulls, t)
        if arm >= 0:
            pull(world, track, t, arm, rngs.noise)
            continue
        if mixed.size == 0 or due(track, t - 1):
            mixed = mixed_inverse(world.features, track.pulls, a, track.lam)
        for i in range(d):
            total[i] = track.target[i]
        for k in range(rows):
            if track.pulls[k] > 0:
                heads = rngs.perturbation.binomial(pseudo_count(a, track.pulls[k]), 0.5)
                for i in range(d):
                    total[i] += heads * world.features[k, i]
        if mixed.size > 0:
            sum_rows(theta, mixed, total)
        else:  # singular to working precision: the arms' directions are in V^-1
            sum_rows(theta, track.inverse, total)
        arm = greedy_arm(world, track, theta)
        before = pseudo_count(a, track.pulls[arm])
        pull(world, track, t, arm, rngs.noise)
        if mixed.size > 0:
            weight = 1.0 + pseudo_count(a, track.pulls[arm]) - before
            x = world.features[arm]
            sum_rows(gain, mixed, x)
            add_outer(mixed, -weight / (1.0 + weight * dot(gain, x)), gain, gain)
