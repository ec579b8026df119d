"""LinPHE with Bernoulli pseudo-rewards on finitely many arms."""

import numpy as np

from ensample.errors import InvalidArgument
from ensample.kernels.compile import kernel
from ensample.kernels.pseudo_rewards import unplayed
from ensample.kernels.track import Rngs, Track, perturbed, stopped
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
    """theta = V^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2); the division by a + 1 changes no argmax."""
    rows, d = world.features.shape
    total = np.zeros(d)
    theta = np.zeros(d)
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        arm = unplayed(basis, track.pulls, t)
        if arm >= 0:
            pull(world, track, t, arm, rngs.noise)
            continue
        total[:] = 0.0
        for k in range(rows):
            if track.pulls[k] > 0:
                heads = rngs.perturbation.binomial(int(np.ceil(a * track.pulls[k])), 0.5)
                for i in range(d):
                    total[i] += heads * world.features[k, i]
        perturbed(track, total, 1.0, theta)
        pull(world, track, t, greedy_arm(world, track, theta), rngs.noise)
