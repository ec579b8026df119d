"""Ensemble sampling on finitely many arms that touches only the member that acts.

Between two rounds in which member j acts, its perturbations sum_i X_i Z_i^j matter to nobody. When it acts again they are
drawn at once: for each arm the sum of n = N_k(now) - N_k(then) draws, whose law is known. This is exact in law, given all that
was seen, and costs the same for any number of members; memory is that of min(m, T) members.

A member that acts for the first time has missed everything. With Gaussian laws it starts from a base: W + sum_i X_i Z_i over
the rounds up to some counts N_k is N(0, scale^2 B) with B = ratio I + sum_k N_k x_k x_k', so that d draws times a root of B
do for it. The base moves on when new members have caught up with 8 d arms since: about the work of a new base. Where W is so
small beside the arms that rounding would lose it in B, there is no base and a new member catches up with everything. Where the
prior is learned W changes with it: it is kept apart, and the ratio is 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.draws import GAUSSIAN_LAW, Law, Laws, draw_sum, draw_vector
from ensample.kernels.inflation import NO_INFLATION, Inflation, inflation
from ensample.kernels.lanes import BLOCK, lowest, unequal
from ensample.kernels.ridge import diagonal, root
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_outer, add_some_rows, sum_rows
from ensample.kernels.slots import Slots, find_slot, new_slots
from ensample.kernels.track import Track, information, learns, perturbed, stopped, with_initial
from ensample.kernels.turns import Ensemble, next_member
from ensample.kernels.world import World, begin, greedy_arm, pull
from ensample.policies import (
    EnsembleSampling,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
)
from ensample.policies.recipe import EnsembleRecipe
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, factor_of, looks_at_all, remembers_all
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import CountArray, FloatArray, IntArray

__all__: list[str] = []

SMALLEST_SHARE = 1e-8  # of W in B that a root in doubles keeps to eight digits
WORTH_A_BASE = 8  # a new base costs about as much as catching up with this many arms for each dimension


class Twist(NamedTuple):
    """What sets a relative of Algorithm 1 apart."""

    symmetric: bool = False  # a random sign each round
    factor: Inflation = NO_INFLATION  # what multiplies V^-1 S^j
    growth: float = np.inf  # log of the growth of det V after which the ensemble is drawn anew


class Members(NamedTuple):
    """The members that have acted, in the order of their first time."""

    table: Slots
    sums: FloatArray  # S^j, without W^j where the prior is learned [min(m, T), d]
    initial: FloatArray  # W^j / sqrt(prior) where the prior is learned [min(m, T) or 0, d]
    seen: CountArray  # pull counts when the member last acted [min(m, T), K + W and more, as in `Track`]
    epochs: IntArray  # [min(m, T)] when its W was drawn; 0: not yet
    which: IntArray  # scratch [K + W]
    weights: FloatArray  # scratch [K + W]
    draws: FloatArray  # scratch [d]
    whole: FloatArray  # scratch [d]
    base_gram: FloatArray  # B [d, d]
    base_root: FloatArray  # upper triangular R with R'R = B [d, d]
    base_counts: CountArray  # N_k of B, as in `Track`


def run_lazily(recipe: EnsembleRecipe, world: World, track: Track, rngs: RunGenerators, twist: Twist) -> None:
    ensemble = ensemble_of(recipe)
    ratio = base_ratio(world, track, ensemble.laws)
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    lazy_ensemble(world, track, ensemble, twist, ratio, drawn)


def no_lazy_law(recipe: EnsembleSampling) -> str:
    """What is missed is known by whole numbers of pulls."""
    return remembers_all(recipe) or looks_at_all(recipe)


@simulates(EnsembleSampling, World, Evaluation.LAZY, unless=no_lazy_law)
def algorithm_one(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run_lazily(recipe, world, track, rngs, Twist(factor=factor_of(recipe)))


@simulates(SymmetrizedEnsembleSampling, World, Evaluation.LAZY)
def symmetrized(recipe: SymmetrizedEnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run_lazily(recipe, world, track, rngs, Twist(symmetric=True))


@simulates(SharpEnsembleSampling, World, Evaluation.LAZY)
def sharp(recipe: SharpEnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run_lazily(recipe, world, track, rngs, Twist(factor=recipe.factor))


@simulates(RefreshedEnsembleSampling, World, Evaluation.LAZY)
def refreshed(recipe: RefreshedEnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    run_lazily(recipe, world, track, rngs, Twist(growth=recipe.threshold))


def base_ratio(world: World, track: Track, laws: Laws) -> float:
    """The ratio of the variances of W and Z where new members can start from a base, else -1.

    The pivots of B's root are at least this ratio, and its diagonal at most the ratio plus all squared norms of arms played.
    """
    if track.counted.size:  # the scales are learned
        return 0.0 if laws.reward.kind == GAUSSIAN_LAW else -1.0
    if laws.initial.kind != GAUSSIAN_LAW or laws.reward.kind != GAUSSIAN_LAW or laws.reward.scale == 0.0:
        return -1.0
    ratio = (laws.initial.scale / laws.reward.scale) ** 2
    played = float(track.checkpoints[-1] + world.warmup.size) * float(np.square(world.features).sum(axis=1).max())
    return ratio if ratio >= SMALLEST_SHARE * (ratio + played) else -1.0


@kernel
def lazy_ensemble(world: World, track: Track, ensemble: Ensemble, twist: Twist, ratio: float, rngs: Rngs) -> None:
    """Algorithm 1 and its relatives: theta = theta_hat + factor_t V^-1 S^j with S^j = W^j + sum_i X_i Z_i^j."""
    rows, d = world.features.shape
    capacity = min(ensemble.size, track.checkpoints[-1])
    members = Members(
        new_slots(capacity),
        np.empty((capacity, d)),
        np.empty((capacity if learns(track) else 0, d)),
        np.empty((capacity, track.pulls.size), np.int32),
        np.zeros(capacity, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows),
        np.empty(d),
        np.empty(d),
        diagonal(d, max(ratio, 0.0)),
        diagonal(d, np.sqrt(max(ratio, 0.0))),
        np.zeros(track.pulls.size, np.int32),
    )
    lazy_rounds(world, track, members, np.zeros(d), ensemble, twist, ratio, rngs)


@borrowing
def lazy_rounds(
    world: World,
    track: Track,
    members: Members,
    theta: FloatArray,
    ensemble: Ensemble,
    twist: Twist,
    ratio: float,
    rngs: Rngs,
) -> None:
    """The rounds of `lazy_ensemble`."""
    laws = ensemble.laws
    used = 0
    member = -1
    paid = 0  # arms that new members caught up with since the base was laid
    epoch = 1
    redraw_at = twist.growth
    learned = learns(track)
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        if twist.growth < np.inf and information(track) > redraw_at:
            epoch += 1
            redraw_at = information(track) + twist.growth
        member = next_member(ensemble, t, member, rngs.member)
        slot = find_slot(members.table, used, member)
        if slot == used:
            used += 1
        total, since = members.sums[slot], members.seen[slot]
        new = members.epochs[slot] != epoch
        if new:
            members.epochs[slot] = epoch
            since = members.base_counts
            if learned:
                draw_vector(laws.initial, members.initial[slot], rngs.perturbation)
            if ratio < 0.0:
                if learned:
                    total[:] = 0.0
                else:
                    draw_vector(laws.initial, total, rngs.perturbation)
            else:
                if paid > WORTH_A_BASE * theta.size:
                    move_base(world, track, members)
                    paid = 0
                start_from_base(members, total, laws.reward.scale, rngs.perturbation)
        missed = catch_up(world, track, members, slot, since, laws.reward, rngs.perturbation)
        if new:
            paid += missed
        scale = inflation(twist.factor, track, t)
        if twist.symmetric and rngs.member.random() < 0.5:
            scale = -scale
        if learned:
            with_initial(track, total, members.initial[slot], members.whole)
            total = members.whole
        perturbed(track, total, scale, theta)
        pull(world, track, t, greedy_arm(world, track, theta), rngs.noise)


@embedded
def start_from_base(members: Members, total: FloatArray, scale: float, rng: Generator) -> None:
    """S^j = scale R'g, as if the member had last acted when the base was laid."""
    for i in range(total.size):
        members.draws[i] = scale * rng.standard_normal()
    sum_rows(total, members.base_root, members.draws)


@borrowing
def move_base(world: World, track: Track, members: Members) -> None:
    """Bring B, its root and its counts up to date."""
    counts, gram = members.base_counts, members.base_gram
    for k in range(counts.size):
        if track.pulls[k] != counts[k]:
            add_outer(gram, track.pulls[k] - counts[k], world.features[k], world.features[k])
            counts[k] = track.pulls[k]
    for i in range(gram.shape[0]):
        for j in range(gram.shape[0]):
            members.base_root[i, j] = gram[i, j]
    root(members.base_root)


@embedded
def catch_up(world: World, track: Track, members: Members, slot: int, since: CountArray, law: Law, rng: Generator) -> int:
    """Draw what a member has missed `since` it last acted, S^j += sum_k x_k (sum of n_k draws): of how many arms."""
    pulls, which, weights = track.pulls, members.which, members.weights
    count = 0
    for start in range(0, pulls.size, BLOCK):
        missed = unequal(pulls, since, start)
        while missed != 0:
            k = start + lowest(missed)
            missed &= missed - np.uint64(1)
            which[count] = k
            weights[count] = draw_sum(law, pulls[k] - since[k], rng)
            count += 1
    seen = members.seen[slot]
    for k in range(pulls.size):
        seen[k] = pulls[k]
    add_some_rows(members.sums[slot], world.features, which, weights, count)
    return count
