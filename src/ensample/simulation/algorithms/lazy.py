"""Ensemble sampling on finitely many arms that touches only the member that acts.

Between two rounds in which member j acts, its perturbations sum_i X_i Z_i^j matter to nobody. When it acts again they are
drawn at once: for each arm the sum of n = N_k(now) - N_k(then) draws, whose law is known. This is exact in law, given all that
was seen, and costs the same for any number of members; memory is that of the members that act again, at most min(m, T).

A member that acts for the first time has missed everything. With Gaussian laws it starts from a base: W + sum_i X_i Z_i over
the rounds up to some counts N_k is N(0, scale^2 B) with B = ratio I + sum_k N_k x_k x_k', so that d draws times a root of B
do for it. The base moves on when new members have caught up with 8 d arms since: about the work of a new base. Where W is so
small beside the arms that rounding would lose it in B, there is no base and a new member catches up with everything.

Where the prior is learned W changes with it. A member that will act again keeps W apart and starts from a base without it. One
that acts in no other round never meets another prior: it starts from a base with W, and nothing of it is kept. Who acts when
depends on nothing else, so it is drawn ahead (`kernels.ahead`) where many members act but once.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.ahead import many_once, places_ahead
from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.draws import GAUSSIAN_LAW, Law, Laws, draw_sum, draw_vector
from ensample.kernels.inflation import NO_INFLATION, Inflation, inflation
from ensample.kernels.lanes import BLOCK, lowest, unequal
from ensample.kernels.ridge import root
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_outer, add_some_rows, sum_rows
from ensample.kernels.slots import Slots, find_slot, new_slots
from ensample.kernels.track import Track, information, learns, perturbed, stopped, with_initial
from ensample.kernels.turns import Ensemble, next_member
from ensample.kernels.world import World, begin, greedy_arm, opening_rounds, pull
from ensample.policies import (
    EnsembleSampling,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
)
from ensample.policies.recipe import EnsembleRecipe
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, factor_of, looks_at_all, remembers_all, why_not_stored
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import BoolArray, CountArray, FloatArray, IntArray

__all__: list[str] = []

SMALLEST_SHARE = 1e-8  # of W in B that a root in doubles keeps to eight digits
WORTH_A_BASE = 8  # a new base costs about as much as catching up with this many arms for each dimension
WHOLE, WALK = 0, 1  # bases: with W, and without it where the prior is learned


class Twist(NamedTuple):
    """What sets a relative of Algorithm 1 apart."""

    symmetric: bool = False  # a random sign each round
    factor: Inflation = NO_INFLATION  # what multiplies V^-1 S^j
    growth: float = np.inf  # log of the growth of det V after which the ensemble is drawn anew


class Bases(NamedTuple):
    """Where new members start, WHOLE and where the prior is learned WALK."""

    prior: FloatArray  # the variance of W over that of Z, 0 in WALK [2, d]
    gram: FloatArray  # sum_k N_k x_k x_k' [2, d, d]
    root: FloatArray  # upper triangular R with R'R = B = prior + gram [2, d, d]
    counts: CountArray  # N_k [2, K + W and more, as in `Track`]
    paid: IntArray  # arms that new members caught up with since [2]
    asked: FloatArray  # [1] when the prior in WHOLE was learned, as in `Scales`
    sound: BoolArray  # [1] whether the root of WHOLE keeps W


class Members(NamedTuple):
    """The members that act again, or may. Where turns are drawn ahead the last place is for all others, one after the other."""

    table: Slots
    turns: IntArray  # places by round, where they are drawn ahead [T or 0]
    sums: FloatArray  # S^j, without W^j where that is kept apart [M, d]
    initial: FloatArray  # W^j / sqrt(prior) where the prior is learned [M or 0, d]
    seen: CountArray  # pull counts when the member last acted [M, K + W and more, as in `Track`]
    epochs: IntArray  # [M] when its W was drawn; 0: not yet
    which: IntArray  # scratch [K + W]
    weights: FloatArray  # scratch [K + W]
    draws: FloatArray  # scratch [d]
    whole: FloatArray  # scratch [d]


def run_lazily(recipe: EnsembleRecipe, world: World, track: Track, rngs: RunGenerators, twist: Twist) -> None:
    lazy_ensemble(world, track, ensemble_of(recipe), twist, Rngs(rngs.noise, rngs.member, rngs.perturbation))


def no_lazy_law(recipe: EnsembleSampling) -> str:
    """What is missed is known by whole numbers of pulls."""
    return remembers_all(recipe) or looks_at_all(recipe) or why_not_stored(recipe)


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
    """The ratio of the variances of W and Z where new members can start from a base with both, else -1.

    The pivots of B's root are at least this ratio, and its diagonal at most the ratio plus all squared norms of arms played.
    Where the scales are learned W is in units of its prior, and a base without it is there even where its law is another: 0.
    """
    gaussian = laws.initial.kind == GAUSSIAN_LAW
    if laws.reward.kind != GAUSSIAN_LAW:
        return -1.0
    if track.counted.size > 0:  # the scales are learned
        return 1.0 if gaussian else 0.0
    if not gaussian or laws.reward.scale == 0.0:
        return -1.0
    ratio = (laws.initial.scale / laws.reward.scale) ** 2
    longest = 0.0
    for x in world.features:
        square = 0.0
        for size in x:
            square += size * size
        longest = max(longest, square)
    played = (track.checkpoints[-1] + world.warmup.size) * longest
    return ratio if ratio >= SMALLEST_SHARE * (ratio + played) else -1.0


base_share = embedded(base_ratio)
"""`base_ratio` in kernels."""


@kernel
def lazy_ensemble(world: World, track: Track, ensemble: Ensemble, twist: Twist, rngs: Rngs) -> None:
    """Algorithm 1 and its relatives: theta = theta_hat + factor_t V^-1 S^j with S^j = W^j + sum_i X_i Z_i^j."""
    rows, d = world.features.shape
    horizon = track.checkpoints[-1]
    turns, places = np.empty(0, np.int64), min(ensemble.size, horizon)
    if not twist.symmetric and many_once(ensemble, horizon):  # its signs are drawn in turn with its members
        turns, places = places_ahead(ensemble, opening_rounds(world, track), horizon, rngs.member)
    members = Members(
        new_slots(0 if turns.size > 0 else places),
        turns,
        np.empty((places, d)),
        np.empty((places if learns(track) else 0, d)),
        np.empty((places, track.pulls.size), np.int32),
        np.zeros(places, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows),
        np.empty(d),
        np.empty(d),
    )
    ratio = base_share(world, track, ensemble.laws)
    lazy_rounds(world, track, members, first_bases(track, ratio), np.zeros(d), ensemble, twist, ratio, rngs)


@kernel
def first_bases(track: Track, ratio: float) -> Bases:
    """Before the first observation."""
    d = track.mean.size
    bases = Bases(
        np.zeros((2, d)),
        np.zeros((2, d, d)),
        np.zeros((2, d, d)),
        np.zeros((2, track.pulls.size), np.int32),
        np.zeros(2, np.int64),
        np.zeros(1),
        np.ones(1, np.bool_),
    )
    for i in range(d):
        bases.prior[WHOLE, i] = track.prior[i] if learns(track) else max(ratio, 0.0)
        bases.root[WHOLE, i, i] = np.sqrt(bases.prior[WHOLE, i])
    return bases


@borrowing
def lazy_rounds(
    world: World,
    track: Track,
    members: Members,
    bases: Bases,
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
    epoch = 1
    redraw_at = twist.growth
    learned = learns(track)
    ahead = members.turns.size > 0
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        if twist.growth < np.inf and information(track) > redraw_at:
            epoch += 1
            redraw_at = information(track) + twist.growth
        if ahead:
            slot = members.turns[t]
        else:
            member = next_member(ensemble, t, member, rngs.member)
            slot = find_slot(members.table, used, member)
            if slot == used:
                used += 1
        once = ahead and slot == members.epochs.size - 1
        new = once or members.epochs[slot] != epoch
        total, since = members.sums[slot], members.seen[slot]
        apart = learned
        place = WHOLE
        if new:
            members.epochs[slot] = epoch
            place = ready_base(world, track, bases, ratio, learned, once)
            since = bases.counts[place]
            apart = place == WALK
            if apart:
                draw_vector(laws.initial, members.initial[slot], rngs.perturbation)
            if ratio >= 0.0:
                start_from_base(members, bases.root[place], total, laws.reward.scale, rngs.perturbation)
            elif learned:
                total[:] = 0.0
            else:
                draw_vector(laws.initial, total, rngs.perturbation)
        missed = catch_up(world, track, members, slot, since, laws.reward, rngs.perturbation)
        if new:
            bases.paid[place] += missed
        scale = inflation(twist.factor, track, t)
        if twist.symmetric and rngs.member.random() < 0.5:
            scale = -scale
        if apart:
            with_initial(track, total, members.initial[slot], members.whole)
            total = members.whole
        perturbed(track, total, scale, theta)
        pull(world, track, t, greedy_arm(world, track, theta), rngs.noise)


@embedded
def ready_base(world: World, track: Track, bases: Bases, ratio: float, learned: bool, once: bool) -> int:
    """The base that a new member starts from, made ready for it: WALK where its W is kept apart."""
    if not learned or (once and ratio > 0.0):
        if is_due(track, bases, WHOLE) and ratio > 0.0:
            move_base(world, track, bases, WHOLE)
        if bases.sound[0]:
            return WHOLE
    if is_due(track, bases, WALK) and ratio >= 0.0:
        move_base(world, track, bases, WALK)
    return WALK


@embedded
def is_due(track: Track, bases: Bases, place: int) -> bool:
    """Whether a base is to be laid anew: it is worth it, or has the W of another prior."""
    changed = place == WHOLE and bases.asked[0] != track.scales.asked[0]
    return changed or bases.paid[place] > WORTH_A_BASE * track.mean.size


@embedded
def start_from_base(members: Members, base_root: FloatArray, total: FloatArray, scale: float, rng: Generator) -> None:
    """S^j = scale R'g, as if the member had last acted when the base was laid."""
    for i in range(total.size):
        members.draws[i] = scale * rng.standard_normal()
    sum_rows(total, base_root, members.draws)


@borrowing
def move_base(world: World, track: Track, bases: Bases, place: int) -> None:
    """Bring B, its root and its counts up to date."""
    counts, gram, prior, base_root = bases.counts[place], bases.gram[place], bases.prior[place], bases.root[place]
    for k in range(counts.size):
        if track.pulls[k] != counts[k]:
            add_outer(gram, track.pulls[k] - counts[k], world.features[k], world.features[k])
            counts[k] = track.pulls[k]
    for i in range(prior.size):
        for j in range(prior.size):
            base_root[i, j] = gram[i, j]
    if place == WHOLE and learns(track):
        take_prior(track, bases)
    for i in range(prior.size):
        base_root[i, i] += prior[i]
    root(base_root)
    bases.paid[place] = 0


@embedded
def take_prior(track: Track, bases: Bases) -> None:
    """The prior as it was last learned, and whether it is too small beside the arms played for a root in doubles to keep it."""
    prior, gram = bases.prior[WHOLE], bases.gram[WHOLE]
    bases.asked[0] = track.scales.asked[0]
    bases.sound[0] = True
    for i in range(prior.size):
        prior[i] = track.prior[i]
        bases.sound[0] &= prior[i] >= SMALLEST_SHARE * (prior[i] + gram[i, i])


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
