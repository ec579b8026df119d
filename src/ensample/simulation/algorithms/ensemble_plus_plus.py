"""Linear Ensemble++ on finitely many arms."""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.draws import SPHERE_LAW, Law, draw_vector
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import sum_rows
from ensample.kernels.shared_factor import learn_direction
from ensample.kernels.track import Track, perturbed, stopped
from ensample.kernels.world import World, begin, greedy_arm, pull
from ensample.policies import EnsemblePlusPlus
from ensample.randomness import RunGenerators
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


@simulates(EnsemblePlusPlus, World, Evaluation.EAGER)
def on_arms(recipe: EnsemblePlusPlus, world: World, track: Track, rngs: RunGenerators) -> None:
    shared_factor(world, track, recipe.size, recipe.scale, Rngs(rngs.noise, rngs.member, rngs.perturbation))


@kernel
def shared_factor(world: World, track: Track, size: int, scale: float, rngs: Rngs) -> None:
    """theta = theta_hat + scale V^-1 S zeta with a fresh zeta ~ N(0, I_M); S += x z', z on the unit sphere of R^M."""
    rows, d = world.features.shape
    directions = np.empty((size, d))  # S'
    z = np.empty(size)
    zeta = np.empty(size)
    total = np.zeros(d)
    theta = np.zeros(d)
    unit = 1.0 / np.sqrt(size)
    first_law, law = Law(SPHERE_LAW, 1, np.sqrt(track.lam) * unit), Law(SPHERE_LAW, 1, unit)
    for i in range(d):
        draw_vector(first_law, z, rngs.perturbation)
        for j in range(size):
            directions[j, i] = z[j]
    first = begin(world, track, rngs.noise)
    for k in range(rows):
        for _ in range(track.pulls[k]):
            draw_vector(law, z, rngs.perturbation)
            learn_direction(directions, world.features[k], z)
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        for j in range(size):
            zeta[j] = rngs.member.standard_normal()
        sum_rows(total, directions, zeta)
        perturbed(track, total, scale, theta)
        arm = greedy_arm(world, track, theta)
        pull(world, track, t, arm, rngs.noise)
        draw_vector(law, z, rngs.perturbation)
        learn_direction(directions, world.features[arm], z)
