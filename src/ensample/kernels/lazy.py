"""Ensemble sampling on finitely many arms that touches only the member that acts.

Between two rounds in which member j acts, its perturbations sum_i X_i Z_i^j matter to nobody. When it acts again they are
drawn at once: for each arm the sum of n = N_k(now) - N_k(then) draws, whose law is known. This is exact in law, given all that
was seen, and costs the same for any number of members; memory is that of min(m, T) members.

A member that acts for the first time has missed everything. With Gaussian laws it starts from a base: W + sum_i X_i Z_i over
the rounds up to some counts N_k is N(0, scale^2 B) with B = ratio I + sum_k N_k x_k x_k', so that d draws times a root of B
do for it. The base moves on when new members have caught up with 8 d arms since: about the work of a new base. Where W is so
small beside the arms that rounding would lose it in B, there is no base and a new member catches up with everything.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import borrowing, embedded, kernel
from ensample.kernels.draws import GAUSSIAN, Code, draw_sum, draw_vector
from ensample.kernels.lanes import BLOCK, lowest, unequal
from ensample.kernels.ridge import root
from ensample.kernels.rows import add_outer, add_some_rows, sum_rows
from ensample.kernels.turns import next_member
from ensample.kernels.world import Track, World, begin, greedy_arm, information, pull, stopped
from ensample.types import CountArray, FloatArray, IntArray

__all__ = ["EMPTY", "PLAIN", "Inflation", "find_slot", "inflation", "lazy_ensemble", "perturbed", "run_lazily", "table_size"]

EMPTY = -1
PLAIN = 1.0, 0.0, 0.0, False
"""No inflation: the scale is in the perturbations."""

Inflation = tuple[float, float, float, bool]  # base, width, tail, determinant form: see `inflation`


SMALLEST_SHARE = 1e-8  # of W in B that a root in doubles keeps to eight digits
WORTH_A_BASE = 8  # a new base costs about as much as catching up with this many arms for each dimension


class Members(NamedTuple):
    """The members that have acted, in the order of their first time."""

    keys: IntArray  # hash table [table_size]: a member or EMPTY
    slots: IntArray  # [table_size] where that member is kept below
    sums: FloatArray  # S^j [min(m, T), d]
    seen: CountArray  # pull counts when the member last acted [min(m, T), K + W and more, as in `Track`]
    epochs: IntArray  # [min(m, T)] when its W was drawn; 0: not yet
    which: IntArray  # scratch [K + W]
    weights: FloatArray  # scratch [K + W]
    draws: FloatArray  # scratch [d]
    base_gram: FloatArray  # B [d, d]
    base_root: FloatArray  # upper triangular R with R'R = B [d, d]
    base_counts: CountArray  # N_k of B, as in `Track`


def run_lazily(
    world: World,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    law: Code,
    noise_rng: Generator,
    member_rng: Generator,
    rng: Generator,
    *,
    symmetric: bool = False,
    factor: Inflation = PLAIN,
    growth: float = np.inf,
) -> None:
    """`lazy_ensemble` with a hash table of the right size for the members that can be touched."""
    places = table_size(min(size, int(track.checkpoints[-1])))
    keys, slots = np.full(places, EMPTY), np.zeros(places, np.int64)
    rngs = noise_rng, member_rng, rng
    ratio = base_ratio(world, track, initial, law)
    lazy_ensemble(world, track, size, stay, initial, law, ratio, symmetric, factor, growth, keys, slots, *rngs)


def base_ratio(world: World, track: Track, initial: Code, law: Code) -> float:
    """The ratio of the variances of W and Z where new members can start from a base, else -1.

    The pivots of B's root are at least this ratio, and its diagonal at most the ratio plus all squared norms of arms played.
    """
    if initial[0] != GAUSSIAN or law[0] != GAUSSIAN or law[2] == 0.0:
        return -1.0
    ratio = (initial[2] / law[2]) ** 2
    played = float(track.checkpoints[-1] + world.warmup.size) * float(np.square(world.features).sum(axis=1).max())
    return ratio if ratio >= SMALLEST_SHARE * (ratio + played) else -1.0


def table_size(members: int) -> int:
    """A power of two, at least twice the number of members that can be touched."""
    return 1 << (2 * members - 1).bit_length()


@embedded
def find_slot(keys: IntArray, slots: IntArray, used: int, member: int) -> int:
    """Where a member is kept, `used` if it is new (and then it is entered): a hash table with linear probing."""
    mask = keys.size - 1
    place = (member * 0x9E3779B1) & mask
    while keys[place] != EMPTY and keys[place] != member:
        place = (place + 1) & mask
    if keys[place] == EMPTY:
        keys[place] = member
        slots[place] = used
    return slots[place]


@kernel
def lazy_ensemble(
    world: World,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    law: Code,
    ratio: float,  # of the variances of W and Z where both laws are Gaussian, else -1
    symmetric: bool,  # a random sign each round
    factor: Inflation,  # what multiplies V^-1 S^j
    growth: float,  # log of the growth of det V after which the ensemble is drawn anew; inf: never
    keys: IntArray,  # [table_size] of EMPTY
    slots: IntArray,
    noise_rng: Generator,
    member_rng: Generator,
    rng: Generator,
) -> None:
    """Algorithm 1 and its relatives: theta = theta_hat + factor_t V^-1 S^j with S^j = W^j + sum_i X_i Z_i^j."""
    rows, d = world.features.shape
    capacity = min(size, track.checkpoints[-1])
    members = Members(
        keys,
        slots,
        np.empty((capacity, d)),
        np.empty((capacity, track.pulls.size), np.int32),
        np.zeros(capacity, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows),
        np.empty(d),
        np.eye(d) * max(ratio, 0.0),
        np.eye(d) * np.sqrt(max(ratio, 0.0)),
        np.zeros(track.pulls.size, np.int32),
    )
    theta = np.zeros(d)
    rngs = noise_rng, member_rng, rng
    lazy_rounds(world, track, members, theta, size, stay, initial, law, ratio, symmetric, factor, growth, *rngs)


@borrowing
def lazy_rounds(
    world: World,
    track: Track,
    members: Members,
    theta: FloatArray,
    size: int,
    stay: int,
    initial: Code,
    law: Code,
    ratio: float,
    symmetric: bool,
    factor: Inflation,
    growth: float,
    noise_rng: Generator,
    member_rng: Generator,
    rng: Generator,
) -> None:
    """The rounds of `lazy_ensemble`."""
    used = 0
    member = -1
    paid = 0  # arms that new members caught up with since the base was laid
    epoch = 1
    redraw_at = growth
    for t in range(begin(world, track, noise_rng), track.checkpoints[-1]):
        if stopped(track, t):
            return
        if growth < np.inf and information(track) > redraw_at:
            epoch += 1
            redraw_at = information(track) + growth
        member = next_member(t, size, stay, member, member_rng)
        slot = find_slot(members.keys, members.slots, used, member)
        if slot == used:
            used += 1
        total, since = members.sums[slot], members.seen[slot]
        new = members.epochs[slot] != epoch
        if new:
            members.epochs[slot] = epoch
            since = members.base_counts
            if ratio < 0.0:
                draw_vector(initial[0], initial[1], initial[2], total, rng)
            else:
                if paid > WORTH_A_BASE * theta.size:
                    move_base(world, track, members)
                    paid = 0
                start_from_base(members, total, law[2], rng)
        missed = catch_up(world, track, members, slot, since, law, rng)
        if new:
            paid += missed
        scale = inflation(factor, track, t, theta.size)
        if symmetric and member_rng.random() < 0.5:
            scale = -scale
        perturbed(track, total, scale, theta)
        pull(world, track, t, greedy_arm(world, track, theta), noise_rng)


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
def catch_up(world: World, track: Track, members: Members, slot: int, since: CountArray, law: Code, rng: Generator) -> int:
    """Draw what a member has missed `since` it last acted, S^j += sum_k x_k (sum of n_k draws): of how many arms."""
    pulls, which, weights = track.pulls, members.which, members.weights
    count = 0
    for start in range(0, pulls.size, BLOCK):
        missed = unequal(pulls, since, start)
        while missed != 0:
            k = start + lowest(missed)
            missed &= missed - np.uint64(1)
            which[count] = k
            weights[count] = draw_sum(law[0], law[1], law[2], pulls[k] - since[k], rng)
            count += 1
    seen = members.seen[slot]
    for k in range(pulls.size):
        seen[k] = pulls[k]
    add_some_rows(members.sums[slot], world.features, which, weights, count)
    return count


@embedded
def inflation(factor: Inflation, track: Track, t: int, d: int) -> float:
    """base + width sqrt(information + tail), the information being log(det V / lam^d) or d log(1 + t/(d lam))."""
    base, width, tail, determinant = factor
    if width == 0.0:
        return base
    learned = information(track) if determinant else d * np.log1p(t / d / track.lam)
    return base + width * np.sqrt(learned + tail)


@embedded
def perturbed(track: Track, total: FloatArray, scale: float, theta: FloatArray) -> None:
    """theta = theta_hat + scale V^-1 total."""
    sum_rows(theta, track.inverse, total)
    for i in range(theta.size):
        theta[i] = track.mean[i] + scale * theta[i]
