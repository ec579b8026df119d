"""Ensemble sampling on finitely many arms with every member kept up to date, as the textbook has it."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.draws import Law, Laws, draw_sum, draw_vector
from ensample.kernels.fading import kept_share
from ensample.kernels.inflation import Inflation, inflation
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_rows, axpy, dot, sum_rows
from ensample.kernels.track import Track, due, forgets, learns, perturbed, renewed, stopped
from ensample.kernels.turns import OPTIMISTIC, Ensemble, next_member
from ensample.kernels.world import World, begin, greedy_arm, pull
from ensample.policies import EnsembleSampling
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, factor_of, unknown_parts, why_not_stored
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import FloatArray

__all__ = ["begin_ensemble", "perturb", "score_all", "update_scores"]


def no_eager_law(recipe: EnsembleSampling) -> str:
    return unknown_parts(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, World, Evaluation.EAGER, unless=no_eager_law)
def algorithm_one(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    eager_ensemble(world, track, ensemble_of(recipe), factor_of(recipe), drawn)


@kernel
def begin_ensemble(world: World, track: Track, ensemble: Ensemble, rngs: Rngs) -> tuple[int, FloatArray]:
    """The first free round, and W^j + sum_i X_i Z_i^j so far, a column a member [d, m]; W is drawn member by member.

    Where the prior is learned, W^j / sqrt(prior) has d rows of its own [2d, m].
    """
    rows, d = world.features.shape
    own = d if learns(track) else 0
    sums = np.zeros((d + own, ensemble.size))
    z, w = np.empty(ensemble.size), np.empty(d)
    for j in range(ensemble.size):
        draw_vector(ensemble.laws.initial, w, rngs.perturbation)
        for i in range(d):
            sums[own + i, j] = w[i]
    first = begin(world, track, rngs.noise)
    if forgets(track):  # in their order, which matters
        for row in world.warmup:
            perturb_fading(track, sums, world.features[row], z, ensemble.laws, rngs.perturbation)
        for t in range(first):
            perturb_fading(track, sums, world.features[world.opening[t]], z, ensemble.laws, rngs.perturbation)
        return first, sums
    for k in range(rows):
        for _ in range(track.pulls[k]):
            perturb(sums, world.features[k], z, ensemble.laws.reward, rngs.perturbation)
    return first, sums


@kernel
def eager_ensemble(world: World, track: Track, ensemble: Ensemble, factor: Inflation, rngs: Rngs) -> None:
    """Algorithm 1, with a row of Z drawn each round."""
    first, sums = begin_ensemble(world, track, ensemble, rngs)
    z = np.empty(ensemble.size)
    theta, total = np.zeros(world.features.shape[1]), np.zeros(world.features.shape[1])
    scores = np.zeros((world.means.size, ensemble.size))
    optimistic = ensemble.stay == OPTIMISTIC
    if optimistic:
        score_all(world, track, sums, inflation(factor, track, first), scores)
    member = -1
    for t in range(first, track.checkpoints[-1]):
        if stopped(track):
            return
        if optimistic:
            arm = promising_arm(world, scores)
        else:
            member = next_member(ensemble, t, member, rngs.member)
            total_of(track, sums, member, total)
            perturbed(track, total, inflation(factor, track, t), theta)
            arm = greedy_arm(world, track, theta)
        y = pull(world, track, t, arm, rngs.noise)
        if forgets(track):
            perturb_fading(track, sums, world.features[arm], z, ensemble.laws, rngs.perturbation)
        else:
            perturb(sums, world.features[arm], z, ensemble.laws.reward, rngs.perturbation)
        if optimistic:
            if due(track, t) or renewed(track):
                score_all(world, track, sums, inflation(factor, track, t), scores)
            else:
                update_scores(world, track, scores, arm, y, inflation(factor, track, t), z)


@kernel
def total_of(track: Track, sums: FloatArray, member: int, total: FloatArray) -> None:
    """S^j of one member, into `total`."""
    d = total.size
    for i in range(d):
        total[i] = sums[i, member]
        if sums.shape[0] > d:
            total[i] += track.prior_root[i] * sums[d + i, member]


@kernel
def perturb(sums: FloatArray, x: FloatArray, z: FloatArray, law: Law, rng: Generator) -> None:
    """S^j += x Z^j for a fresh row Z."""
    for j in range(z.size):
        z[j] = draw_sum(law, 1, rng)
    for i in range(x.size):
        axpy(sums[i], x[i], z)


@kernel
def perturb_fading(track: Track, sums: FloatArray, x: FloatArray, z: FloatArray, laws: Laws, rng: Generator) -> None:
    """S^j <- sqrt(g) S^j + sqrt(1 - g) W'^j + x Z^j for fresh W' and Z: `kernels.learning.learn_fading`."""
    kept = kept_share(track.rate)
    shrink, weight = np.sqrt(kept), np.sqrt(1.0 - kept)
    for i in range(sums.shape[0]):
        row = sums[i]
        for j in range(row.size):
            row[j] *= shrink
    own, w = sums.shape[0] - x.size, np.empty(x.size)
    for j in range(z.size):
        draw_vector(laws.initial, w, rng)
        for i in range(x.size):
            sums[own + i, j] += weight * w[i]
    perturb(sums, x, z, laws.reward, rng)


@kernel
def score_all(world: World, track: Track, sums: FloatArray, factor: float, scores: FloatArray) -> None:
    """scores[k, j] = x_k'theta^j from scratch."""
    rows, d = world.features.shape
    for k in range(rows):
        x = world.features[k]
        u = np.empty(d)
        sum_rows(u, track.inverse, x)
        for i in range(d):
            u[i] *= factor
        scores[k] = dot(x, track.mean)
        add_rows(scores[k], sums[:d], u)
        if sums.shape[0] > d:
            for i in range(d):
                u[i] *= track.prior_root[i]
            add_rows(scores[k], sums[d:], u)


@kernel
def update_scores(world: World, track: Track, scores: FloatArray, arm: int, y: float, factor: float, z: FloatArray) -> None:
    """After (x, y + factor z_j): theta^j += V^-1 x (y + factor z_j - x'theta^j), so scores change by a rank-one term."""
    surprise = np.empty(z.size)
    for j in range(z.size):
        surprise[j] = y + factor * z[j] - scores[arm, j]
    for k in range(world.means.size):
        axpy(scores[k], dot(world.features[k], track.gain) / (1.0 + track.tally.leverage), surprise)


@kernel
def promising_arm(world: World, scores: FloatArray) -> int:
    """The greedy arm of the member that promises most; lowest member, then lowest arm, on ties."""
    best, best_member, top = 0, 0, -np.inf
    for k in range(world.by_coordinate.shape[1]):
        row = scores[k]
        for j in range(row.size):
            if row[j] > top or (row[j] == top and j < best_member):
                best, best_member, top = k, j, row[j]
    return best
