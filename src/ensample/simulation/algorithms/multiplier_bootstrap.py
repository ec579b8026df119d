"""Multiplier bootstrap exploration on finitely many arms."""

import numpy as np

from ensample.errors import InvalidArgument
from ensample.kernels.compile import kernel
from ensample.kernels.multipliers import weigh, weighted_estimate
from ensample.kernels.pseudo_rewards import unplayed
from ensample.kernels.rngs import Rngs
from ensample.kernels.track import Track, stopped
from ensample.kernels.world import World, greedy_arm, opening_rounds, prescribed, pull
from ensample.policies.kveton_phe import independent_rows
from ensample.policies.multiplier_bootstrap import MultiplierBootstrap
from ensample.randomness import RunGenerators
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import IntArray

__all__: list[str] = []


@simulates(MultiplierBootstrap, World, Evaluation.EAGER)
def on_arms(recipe: MultiplierBootstrap, world: World, track: Track, rngs: RunGenerators) -> None:
    features = np.ascontiguousarray(world.by_coordinate.T)
    if len(features) < len(world.features):
        raise InvalidArgument("warmup", world.features[-1], "the features of standing arms for MultiplierBootstrap")
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    constants = recipe.size, recipe.spread, recipe.pseudo
    weighted_histories(world, track, *constants, independent_rows(features), drawn)


@kernel
def weighted_histories(
    world: World, track: Track, size: int, spread: float, pseudo: float, basis: IntArray, rngs: Rngs
) -> None:
    """Every replicate takes in every observation; the one that acts is solved for."""
    d = world.features.shape[1]
    grams, targets, weights = np.zeros((size, d, d)), np.zeros((size, d)), np.empty(3)
    for j in range(size):
        for i in range(d):
            grams[j, i, i] = track.lam
    known = world.warmup.size + opening_rounds(world, track)
    for i in range(world.warmup.size + track.checkpoints[-1]):
        if stopped(track):
            return
        t = i - world.warmup.size
        if i < known:
            arm = world.warmup[i] if t < 0 else world.opening[t]
            y = prescribed(world, track, i, rngs.noise)
        else:
            arm = unplayed(basis, track.pulls, t)
            if arm < 0:
                j = int(rngs.member.random() * size)
                arm = greedy_arm(world, track, weighted_estimate(grams[j], targets[j]))
            y = pull(world, track, t, arm, rngs.noise)
        for j in range(size):
            for kind in range(3):
                weights[kind] = 1.0 + spread * rngs.perturbation.standard_normal()
            weigh(grams, targets, j, weights, pseudo, world.features[arm], y)
