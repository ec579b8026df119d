"""What a minibatch of observations asks of networks: rows in units, and by how much outputs miss what each member aims at.

One pass each: between two streams of matrix products whatever is many small steps finds its code and data out of the caches.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample.kernels.books import OBSERVED, PLACE, ROUND, TRAINED, Book, feature_sizes, newest, reward_units
from ensample.kernels.compile import embedded, kernel, loop
from ensample.types import FloatArray, IntArray

__all__ = [
    "FETCHED",
    "LOGISTIC",
    "RECENT",
    "SQUARED",
    "WIDEST",
    "Aim",
    "Held",
    "Lesson",
    "Minibatch",
    "aim",
    "fetch",
    "first_equal",
    "learn_sizes",
    "learn_units",
    "measured",
    "merge",
    "remember",
    "sigma_of",
    "spread_of",
]

SQUARED, LOGISTIC = 0, 1  # losses
WIDEST = 100.0  # times its typical size: further out, where networks know nothing, a feature counts no more
FETCHED = -1  # in place of the number of an observation that could not be
RECENT = 4.0  # the weight of the newest of n squared misses, times n: the older half of them counts 1/16


class Held(NamedTuple):
    """What is in memory, and what each member adds to it, by place."""

    features: FloatArray  # [C, d]
    rewards: FloatArray  # [C]
    rounds: IntArray  # [C]
    known: IntArray  # [C] the rounds of the next two
    z: FloatArray  # [C, m] perturbations
    told: FloatArray  # [C, m] what prior networks say; [C, 0] where there are none


class Aim(NamedTuple):
    """What members aim at."""

    loss: int
    prior: float  # the scale of the prior networks
    boldness: float  # what multiplies sigma; NaN: perturbations are in the units of the rewards
    pull: float  # lam; NaN: sigma^2 in units of the rewards' spread


class Lesson(NamedTuple):
    """What is taught in a round."""

    aim: Aim
    held: Held
    told: FloatArray  # [m] what prior networks say of the newest observation; [0] where there are none
    before: Book
    after: Book  # with the newest observation, which is not in memory yet


class Minibatch(NamedTuple):
    """Observations that were drawn from the memory; the newest comes before them, to be seen."""

    places: IntArray  # [B]
    seen: FloatArray  # [1 + B, d] as networks see them
    rewards: FloatArray  # [B]
    which: IntArray  # [1 + B] which of the different rows each is, as `merge` has it


def spread_of(mean: float, deviations: float, count: int) -> float:
    """The standard deviation of rewards; where all are equal their size; 1 before the first that is not 0."""
    spread = math.sqrt(deviations / max(count, 1))
    if spread > 0.0:
        return spread
    return abs(mean) if mean != 0.0 else 1.0


def sigma_of(misses: float, spread: float) -> float:
    """The standard deviation of the noise, as far as it is known: misses, which never exceed the rewards' own spread."""
    return min(math.sqrt(misses), spread)


spread_at, sigma_at = embedded(spread_of), embedded(sigma_of)


@kernel
def fetch(lesson: Lesson, batch: Minibatch) -> int:
    """The observations of a minibatch as networks see them, the newest taken to be in its place.

    Before them the newest itself, in the units that there were before it. Returns FETCHED, or the number of a place in memory
    that members have to add to first.
    """
    held, values, counts, d = lesson.held, newest(lesson.after), lesson.after.counts, batch.seen.shape[1]
    sizes = feature_sizes(lesson.after)
    measure(values[:d], feature_sizes(lesson.before), batch.seen[0])
    for b in range(batch.places.size):
        place = batch.places[b]
        fresh = place == counts[PLACE]
        if held.known[place] != (counts[ROUND] if fresh else held.rounds[place]):
            return place
        batch.rewards[b] = values[d] if fresh else held.rewards[place]
        measure(values[:d] if fresh else held.features[place], sizes, batch.seen[1 + b])
    return FETCHED


@loop
def remember(lesson: Lesson) -> None:
    """Put the newest observation in its place in memory, if it has one."""
    held, counts, values = lesson.held, lesson.after.counts, newest(lesson.after)
    place, d = counts[PLACE], held.features.shape[1]
    if place >= 0:
        for i in range(d):
            held.features[place, i] = values[i]
        held.rewards[place] = values[d]
        held.rounds[place] = counts[ROUND]


@embedded
def measure(row: FloatArray, sizes: FloatArray, seen: FloatArray) -> None:
    """A row as networks see it: [d]. A feature that has no unit yet is its own."""
    for i in range(row.size):
        size = sizes[i] if sizes[i] > 0.0 else abs(row[i])
        seen[i] = min(max(row[i] / size, -WIDEST), WIDEST) if size > 0.0 else 0.0


@kernel
def measured(rows: FloatArray, sizes: FloatArray, seen: FloatArray) -> bool:
    """Rows as networks see them: both [B, d]. Returns whether all features have units."""
    for b in range(rows.shape[0]):
        measure(rows[b], sizes, seen[b])
    known = 0
    for i in range(sizes.size):
        known += sizes[i] > 0.0
    return known == sizes.size


@kernel
def first_equal(rows: FloatArray, x: FloatArray) -> int:
    """The lowest index of a row: products of matrices may give equal rows scores that differ in their last digit."""
    for place in range(rows.shape[0]):
        if same(rows[place], x):
            return place
    return 0


@kernel
def merge(seen: FloatArray, which: IntArray) -> int:
    """Equal rows of `seen` [1 + B, d] become one: the different ones come first, and row b is number `which[b]` of them.

    Returns how many they are. Networks give equal rows the same outputs, and what a gradient takes from them is the sum of
    their slopes: where arms stand a minibatch has few rows. The first stays the first.
    """
    keys, count = np.empty(which.size), 0
    for b in range(which.size):
        row, key = seen[b], 0.0
        for i in range(row.size):
            key += (i + 1) * row[i]
        g = 0
        while g < count and not (keys[g] == key and same(seen[g], row)):
            g += 1
        if g == count:
            keys[g] = key
            for i in range(row.size):
                seen[g, i] = row[i]
            count += 1
        which[b] = g
    return count


@embedded
def same(one: FloatArray, other: FloatArray) -> bool:
    i = 0
    while i < one.size and one[i] == other[i]:
        i += 1
    return i == one.size


@kernel
def aim(lesson: Lesson, batch: Minibatch, number: int, outputs: FloatArray, delta: FloatArray) -> float:
    """The derivative of the mean loss of minibatch `number` by the outputs, into `delta`: both [m, G]. Returns lam / n.

    Observation b is in row `which[b + 1]` of G, as `merge` has it. The first row is that of the newest observation, which
    came only to be seen: what members expected of it brings the units of rewards up to date, in a round's first minibatch.
    """
    how, held, count, units = lesson.aim, lesson.held, lesson.after.counts[OBSERVED], reward_units(lesson.after)
    if number == lesson.before.counts[TRAINED] + 1:
        known = reward_units(lesson.before)
        y = float(newest(lesson.after)[held.features.shape[1]])
        learn_units(known, units, y, count, y - expectation(how, lesson.told, outputs, count - 1, known))
    mean, spread = units[0], spread_at(units[0], units[1], count)
    sigma = sigma_at(units[2], spread)
    members, drawn = outputs.shape[0], batch.places.size
    delta[:] = 0.0
    for b in range(drawn):
        place, row, y = batch.places[b], batch.which[b + 1], batch.rewards[b]
        if how.loss == SQUARED:
            target, scale = (y - mean) / spread, (1.0 if math.isnan(how.boldness) else how.boldness * sigma) / spread
            for j in range(members):
                delta[j, row] += (heard(how, held, outputs, j, row, place) - target - scale * held.z[place, j]) / drawn
        else:
            total = 0.0
            for j in range(members):
                total += heard(how, held, outputs, j, row, place)
            centre = sigmoid(total / members)
            scale = (1.0 if math.isnan(how.boldness) else how.boldness) * math.sqrt(centre * (1.0 - centre))
            for j in range(members):
                expected = sigmoid(heard(how, held, outputs, j, row, place))
                delta[j, row] += (expected - y - scale * held.z[place, j]) / drawn
    if not math.isnan(how.pull):
        return how.pull / count
    return ((sigma / spread) ** 2 if how.loss == SQUARED else 1.0) / count  # the noise of clicks is known


@embedded
def heard(how: Aim, held: Held, outputs: FloatArray, member: int, row: int, place: int) -> float:
    """What a member and its prior network say together."""
    return outputs[member, row] + (how.prior * held.told[place, member] if held.told.shape[1] > 0 else 0.0)


@embedded
def expectation(how: Aim, told: FloatArray, outputs: FloatArray, count: int, units: FloatArray) -> float:
    """What members expected of the newest reward, in the mean, when rewards had these units."""
    total = 0.0
    for j in range(outputs.shape[0]):
        u = outputs[j, 0] + (how.prior * told[j] if told.size > 0 else 0.0)
        total += u if how.loss == SQUARED else sigmoid(u)
    mean = total / outputs.shape[0]
    return units[0] + spread_at(units[0], units[1], count) * mean if how.loss == SQUARED else mean


@kernel
def learn_sizes(sizes: FloatArray, squares: FloatArray, seen: FloatArray, x: FloatArray, count: int) -> None:
    """Units of features with one more observation, number `count`: all [d], in place."""
    due = count & (count - 1) == 0
    for i in range(x.size):
        there = x[i] != 0.0
        squares[i] += x[i] * x[i]
        if there:
            seen[i] += 1.0
        if (there and sizes[i] == 0.0) or (due and seen[i] > 0.0):
            sizes[i] = math.sqrt(squares[i] / seen[i])


@kernel
def learn_units(before: FloatArray, after: FloatArray, y: float, count: int, miss: float) -> None:
    """Units of rewards with one more, number `count`, that was missed by so much (Welford)."""
    share = min(1.0, RECENT / count)
    after[0] = before[0] + (y - before[0]) / count
    after[1] = before[1] + (y - before[0]) * (y - after[0])
    after[2] = (1.0 - share) * before[2] + share * miss * miss


@embedded
def sigmoid(u: float) -> float:
    """1 / (1 + e^-u), without overflow."""
    return 0.5 * (1.0 + math.tanh(0.5 * u))
