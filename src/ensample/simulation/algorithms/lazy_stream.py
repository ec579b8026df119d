"""Ensemble sampling with a generalised linear model, by the stream fit, that touches only the member that acts.

It is linear ensemble sampling in the features sqrt(w) x, so the lazy law of `lazy` holds with weights for counts: what
member j has missed of arm k since it last acted is N(0, scale^2 (c_k(now) - c_k(then))) times x_k, c_k the sum of the
weights of its observations. A member that is new starts from a base, N(0, scale^2 V) at some time, or from W and all that
came since where W is too small beside V for a root in doubles. On arms that change, the increment is N(0, scale^2 (V_now -
V_then)).
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.lanes import BLOCK, lowest, unequal
from ensample.kernels.ridge import root
from ensample.kernels.rngs import Rngs
from ensample.kernels.rows import add_outer, add_some_rows, axpy, sum_rows
from ensample.kernels.scene import Scene, first_moment, offer, play_weighted
from ensample.kernels.slots import Slots, find_slot, new_slots
from ensample.kernels.track import Track, perturbed, stopped
from ensample.kernels.turns import Ensemble, next_member
from ensample.kernels.weighted import begin_weighted, pull_weighted
from ensample.kernels.world import World, greedy_arm
from ensample.models import Logistic
from ensample.policies import EnsembleSampling
from ensample.randomness import RunGenerators
from ensample.simulation.codes import ensemble_of, looks_at_all, remembers_all, why_not_stored
from ensample.simulation.registry import Evaluation, simulates
from ensample.types import CountArray, FloatArray, IntArray

__all__ = ["no_stream_law"]

SMALLEST_SHARE = 1e-8  # of W in V that a root in doubles keeps to eight digits
WORTH_A_BASE = 8  # a new base costs about as much as catching up with this many arms for each dimension


class StreamMembers(NamedTuple):
    """The members that have acted, in the order of their first time."""

    table: Slots
    sums: FloatArray  # S^j [min(m, T), d]
    counts: CountArray  # pull counts when the member last acted [min(m, T), K + W and more, as in `Track`]
    seen: FloatArray  # the arms' weights then [min(m, T), K + W]
    weights: FloatArray  # c_k now [K + W]
    which: IntArray  # scratch [K + W]
    draws: FloatArray  # scratch [K + W or d]
    base_root: FloatArray  # upper triangular R with R'R = V when the base was laid [d, d]
    base_weights: FloatArray  # c_k then [K + W]
    base_counts: CountArray  # pull counts then, as in `Track`


def no_stream_law(recipe: EnsembleSampling) -> str:
    """Return why the ensemble of a logistic model cannot be simulated lazily, whether its members are stored or fresh."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != "stream":
        return 'only fit="stream" has a lazy law'
    if recipe.initial is not None or recipe.reward is not None:
        return "the lazy law of the stream fit is that of the default laws"
    return remembers_all(recipe) or looks_at_all(recipe)


def no_lazy_stream(recipe: EnsembleSampling) -> str:
    return no_stream_law(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, World, Evaluation.LAZY, unless=no_lazy_stream, model=Logistic)
def on_arms(recipe: EnsembleSampling, world: World, track: Track, rngs: RunGenerators) -> None:
    assert isinstance(recipe.model, Logistic)
    squares = float(np.square(world.features).sum(axis=1).max())
    played = 0.25 * float(track.checkpoints[-1] + world.warmup.size) * squares
    based = float(track.prior.min()) >= SMALLEST_SHARE * (float(track.prior.max()) + played)
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    lazy_stream(world, track, ensemble_of(recipe), recipe.model.code, recipe.unit_scale, based, drawn)


@simulates(EnsembleSampling, Scene, Evaluation.LAZY, unless=no_lazy_stream, model=Logistic)
def on_moving_arms(recipe: EnsembleSampling, scene: Scene, track: Track, rngs: RunGenerators) -> None:
    assert isinstance(recipe.model, Logistic)
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    lazy_moving_stream(scene, track, ensemble_of(recipe), recipe.model.code, recipe.unit_scale, drawn)


@kernel
def lazy_stream(world: World, track: Track, ensemble: Ensemble, link: int, scale: float, based: bool, rngs: Rngs) -> None:
    """theta = theta_hat + V^-1 S^j on finitely many arms; S^j at the scale."""
    rows, d = world.features.shape
    capacity = min(ensemble.size, track.checkpoints[-1])
    base_root = np.zeros((d, d))
    for i in range(d):
        base_root[i, i] = track.prior_root[i]
    members = StreamMembers(
        new_slots(capacity),
        np.empty((capacity, d)),
        np.empty((capacity, track.pulls.size), np.int32),
        np.empty((capacity, rows)),
        np.zeros(rows),
        np.empty(rows, np.int64),
        np.empty(max(rows, d)),
        base_root,
        np.zeros(rows),
        np.zeros(track.pulls.size, np.int32),
    )
    stream_rounds(world, track, members, np.zeros(d), ensemble, link, scale, based, rngs)


@borrowing
def stream_rounds(
    world: World,
    track: Track,
    members: StreamMembers,
    theta: FloatArray,
    ensemble: Ensemble,
    link: int,
    scale: float,
    based: bool,
    rngs: Rngs,
) -> None:
    """The rounds of `lazy_stream`."""
    used = 0
    member = -1
    paid = 0  # arms that new members caught up with since the base was laid
    for t in range(begin_weighted(world, track, link, members.weights, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        member = next_member(ensemble, t, member, rngs.member)
        slot = find_slot(members.table, used, member)
        new = slot == used
        if new:
            used += 1
            if based and paid > WORTH_A_BASE * theta.size:
                move_base(world, track, members)
                paid = 0
            start_from_base(members, slot, scale, rngs.perturbation)
        missed = catch_up(world, track, members, slot, scale, rngs.perturbation)
        if new:
            paid += missed
        perturbed(track, members.sums[slot], 1.0, theta)
        pull_weighted(world, track, link, members.weights, t, greedy_arm(world, track, theta), rngs.noise)


@embedded
def start_from_base(members: StreamMembers, slot: int, scale: float, rng: Generator) -> None:
    """S^j = scale R'g, as if the member had last acted when the base was laid."""
    total, seen = members.sums[slot], members.seen[slot]
    for i in range(total.size):
        members.draws[i] = scale * rng.standard_normal()
    sum_rows(total, members.base_root, members.draws[: total.size])
    for k in range(seen.size):
        seen[k] = members.base_weights[k]
    for k in range(members.base_counts.size):
        members.counts[slot, k] = members.base_counts[k]


@borrowing
def move_base(world: World, track: Track, members: StreamMembers) -> None:
    """The root of V, and its weights, as they are now."""
    base = members.base_root
    for i in range(base.shape[0]):
        for k in range(base.shape[0]):
            base[i, k] = track.prior[i] if i == k else 0.0
    for k in range(track.pulls.size):
        members.base_counts[k] = track.pulls[k]
    for k in range(members.weights.size):
        members.base_weights[k] = members.weights[k]
        if members.weights[k] > 0.0:
            add_outer(base, members.weights[k], world.features[k], world.features[k])
    root(base)


@embedded
def catch_up(world: World, track: Track, members: StreamMembers, slot: int, scale: float, rng: Generator) -> int:
    """Draw what a member has missed since it last acted: of how many arms."""
    weights, seen, which, draws = members.weights, members.seen[slot], members.which, members.draws
    pulls, counts = track.pulls, members.counts[slot]
    count = 0
    for start in range(0, pulls.size, BLOCK):
        missed = unequal(pulls, counts, start)
        while missed != 0:
            k = start + lowest(missed)
            missed &= missed - np.uint64(1)
            which[count] = k
            draws[count] = scale * np.sqrt(weights[k] - seen[k]) * rng.standard_normal()
            seen[k] = weights[k]
            count += 1
    for k in range(pulls.size):
        counts[k] = pulls[k]
    add_some_rows(members.sums[slot], world.features, which, draws, count)
    return count


@kernel
def lazy_moving_stream(scene: Scene, track: Track, ensemble: Ensemble, link: int, scale: float, rngs: Rngs) -> None:
    """The same on arms that change every round, or on the unit ball."""
    d, horizon = scene.theta.size, track.checkpoints[-1]
    capacity = min(ensemble.size, horizon)
    table, sums = new_slots(capacity), np.zeros((capacity, d))
    grams = np.zeros((capacity, d, d))  # V when the member last acted; 0 before it ever did: W too is N(0, scale^2 prior)
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
        if slot == used:
            used += 1
        total, then = sums[slot], grams[slot]
        for i in range(d):
            for k in range(d):
                difference[i, k] = moment.gram[i, k] - then[i, k]
                then[i, k] = moment.gram[i, k]
        root(difference)
        for k in range(d):
            axpy(total[k:], scale * rngs.perturbation.standard_normal(), difference[k, k:])
        perturbed(track, total, 1.0, moment.theta)
        play_weighted(scene, track, moment, link, t, rngs.noise)
