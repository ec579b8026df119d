"""Information-directed sampling on finitely many arms."""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.inflation import Inflation, inflation
from ensample.kernels.information import best_pair, gaps_and_gains, member_scores
from ensample.kernels.rngs import Rngs
from ensample.kernels.track import Track, due, perturbed, renewed, stopped
from ensample.kernels.turns import Ensemble
from ensample.kernels.world import World, begin, pull
from ensample.policies import InformationDirected
from ensample.randomness import RunGenerators
from ensample.simulation.algorithms.eager import begin_ensemble, perturb, score_all, update_scores
from ensample.simulation.algorithms.history import add_to_roots, draw_aged_sum
from ensample.simulation.codes import ensemble_of, factor_of
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


@simulates(InformationDirected, World, Evaluation.EAGER)
def on_arms(recipe: InformationDirected, world: World, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    rounds = informed_by_fresh_members if recipe.fresh else informed_ensemble
    rounds(world, track, ensemble_of(recipe), factor_of(recipe), drawn)


@kernel
def informed_ensemble(world: World, track: Track, ensemble: Ensemble, factor: Inflation, rngs: Rngs) -> None:
    """Members as in Algorithm 1, all kept up to date; each round plays one of the two arms of `best_pair`: O(K m + K^2)."""
    arms = world.by_coordinate.shape[1]
    first, sums = begin_ensemble(world, track, ensemble, rngs)
    z = np.empty(ensemble.size)
    scores = np.zeros((world.means.size, ensemble.size))
    score_all(world, track, sums, inflation(factor, track, first), scores)
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        gaps, gains, means = gaps_and_gains(scores[:arms])
        one, other, share = best_pair(gaps, gains, means)
        arm = one if rngs.member.random() < share else other
        y = pull(world, track, t, arm, rngs.noise)
        perturb(sums, world.features[arm], z, ensemble.laws.reward, rngs.perturbation)
        if due(track, t) or renewed(track):
            score_all(world, track, sums, inflation(factor, track, t), scores)
        else:
            update_scores(world, track, scores, arm, y, inflation(factor, track, t), z)


@kernel
def informed_by_fresh_members(world: World, track: Track, ensemble: Ensemble, factor: Inflation, rngs: Rngs) -> None:
    """Play as `informed_ensemble` with members that are drawn anew each round: O(m d^2 + K m d + K^2)."""
    rows, d = world.features.shape
    m = ensemble.size
    root, gram_root, ages = np.zeros((d, d)), np.zeros((0, d)), np.zeros(2)
    total, theta, thetas = np.zeros(d), np.zeros(d), np.zeros((d, m))
    first = begin(world, track, rngs.noise)
    for k in range(rows):
        for _ in range(track.pulls[k]):
            add_to_roots(track, root, gram_root, ages, 0.0, world.features[k])
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        size = inflation(factor, track, t)
        for j in range(m):
            draw_aged_sum(track, ensemble.laws, root, ages, total, rngs.perturbation)
            perturbed(track, total, size, theta)
            for i in range(d):
                thetas[i, j] = theta[i]
        gaps, gains, means = gaps_and_gains(member_scores(thetas, world.by_coordinate))
        one, other, share = best_pair(gaps, gains, means)
        arm = one if rngs.member.random() < share else other
        pull(world, track, t, arm, rngs.noise)
        add_to_roots(track, root, gram_root, ages, 0.0, world.features[arm])
