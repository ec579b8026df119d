"""SupLinUCB on finitely many arms."""

import math

import numpy as np

from ensample.errors import InvalidArgument
from ensample.kernels.compile import kernel
from ensample.kernels.rngs import Rngs
from ensample.kernels.stages import feed, stage_of, staged_arm
from ensample.kernels.track import Track, stopped
from ensample.kernels.world import World, opening_rounds, prescribed, pull
from ensample.policies.sup_linucb import SupLinUCB
from ensample.randomness import RunGenerators
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


@simulates(SupLinUCB, World, Evaluation.EAGER)
def on_arms(recipe: SupLinUCB, world: World, track: Track, rngs: RunGenerators) -> None:
    if world.by_coordinate.shape[1] < len(world.features):
        raise InvalidArgument("warmup", world.features[-1], "the features of standing arms for SupLinUCB")
    staged_optimism(world, track, recipe.stages, recipe.radius, 1.0 / math.sqrt(recipe.horizon), Rngs(rngs.noise))


@kernel
def staged_optimism(world: World, track: Track, stages: int, radius: float, floor: float, rngs: Rngs) -> None:
    """What is prescribed goes to the stage that would have asked for it, or to the first that needs it, as in live policies."""
    d = world.features.shape[1]
    grams, inverses = np.zeros((stages, d, d)), np.zeros((stages, d, d))
    targets, means = np.zeros((stages, d)), np.zeros((stages, d))
    for s in range(stages):
        for i in range(d):
            grams[s, i, i] = track.lam
            inverses[s, i, i] = 1.0 / track.lam
    known = world.warmup.size + opening_rounds(world, track)
    for i in range(world.warmup.size + track.checkpoints[-1]):
        if stopped(track):
            return
        t = i - world.warmup.size
        arm, stage = staged_arm(inverses, means, world.by_coordinate, radius, floor)
        if i < known:
            row = world.warmup[i] if t < 0 else world.opening[t]
            if row != arm:
                arm, stage = row, stage_of(inverses, world.features[row], radius, floor)
            y = prescribed(world, track, i, rngs.noise)
        else:
            y = pull(world, track, t, arm, rngs.noise)
        if stage >= 0:
            feed(grams[stage], inverses[stage], targets[stage], means[stage], world.features[arm], y)
