"""State of trained networks: weights, units of features and rewards, and a memory of observations.

A feature is divided by the root mean square of its values that are not 0: of the standing arms or,
where none stand, of what was played. A feature that was never played has the unit of the round's
offer. Units of what was played are brought up to date whenever the number of observations has
doubled, so that between two such moments networks learn one function.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample import _core
from ensample.models.networks import Nets
from ensample.perturbations import Perturbation, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

RECENT = 4.0  # weight of the newest of n squared misses, times n: the older half counts 1/16
EMPTY = -1  # the round of a place that holds nothing, and the place of what is not kept
KEPT = 1024  # rows whose prior outputs are kept beside those of the memory


class FeatureUnits(NamedTuple):
    """Units of features, and the sums they are learned from: rows of an array [3, d]."""

    sizes: FloatArray  # [d]; 0 where a feature was never seen
    squares: FloatArray  # [d] sums of squares of what was played
    seen: FloatArray  # [d] how often it was not 0


class RewardUnits(NamedTuple):
    """Mean and spread of the rewards, and the squared error of the members' mean before each."""

    mean: FloatArray  # [1]
    deviations: FloatArray  # [1] sum of squared deviations from the mean
    misses: FloatArray  # [1] mean of squared misses, the recent ones counting more

    def spread(self, count: int) -> float:
        """Return the standard deviation; the size of equal rewards; 1 before the first."""
        spread = math.sqrt(float(self.deviations[0]) / max(count, 1))
        return spread or abs(float(self.mean[0])) or 1.0

    def sigma(self, count: int) -> float:
        """Return the noise as far as it is known: at most the rewards' spread."""
        return min(math.sqrt(float(self.misses[0])), self.spread(count))

    def after(self, y: float, count: int, miss: float) -> "RewardUnits":
        """Return the units after reward number `count`, missed by `miss` (Welford)."""
        share, mean = min(1.0, RECENT / count), self.mean + (y - self.mean) / count
        deviations = self.deviations + (y - self.mean) * (y - mean)
        return RewardUnits(mean, deviations, (1.0 - share) * self.misses + share * miss * miss)


class NetworkState(NamedTuple):
    """Arrays that an observation changes, apart from the memory; properties are views of them."""

    weights: FloatArray  # [3, n] with the moments of Adam, or [1, n]
    numbers: FloatArray  # [4 d + 4] units of features, newest features and reward, units of rewards
    counts: IntArray  # [4] observations and minibatches so far; round and place of the newest

    @property
    def feature_units(self) -> FloatArray:
        """`features` as one array: [3, d]."""
        d = self.numbers.size // 4 - 1
        return self.numbers[: 3 * d].reshape(3, d)

    @property
    def features(self) -> FeatureUnits:
        return FeatureUnits(*self.feature_units)

    @property
    def newest(self) -> FloatArray:
        """Features and reward of the newest observation: [d + 1]."""
        d = self.numbers.size // 4 - 1
        return self.numbers[3 * d : 4 * d + 1]

    @property
    def rewards(self) -> RewardUnits:
        units = self.numbers[-3:]
        return RewardUnits(units[:1], units[1:2], units[2:])


class Memory(NamedTuple):
    """Uniform sample, without replacement, of all observations, and what each member adds to them.

    Perturbations Z_i^j and prior outputs p^j(x_i) are functions of (seed, round) and of the
    features, and no part of the learned state: they are kept by place, and computed again where
    another observation has taken it or units have changed.
    """

    features: FloatArray  # [C, d]
    rewards: FloatArray  # [C]
    rounds: IntArray  # [C], EMPTY where nothing is kept yet
    perturbations: FloatArray  # [C, m]
    prior_outputs: FloatArray  # [C, m], or [C, 0] without prior networks

    @property
    def capacity(self) -> int:
        return len(self.rewards)


def new_memory(capacity: int, dim: int, size: int, has_prior: bool) -> Memory:
    """Return an empty memory for the observations of `size` members."""
    rounds = np.full(capacity, EMPTY, np.int64)
    additions = np.empty((capacity, size)), np.empty((capacity, size if has_prior else 0))
    return Memory(np.zeros((capacity, dim)), np.zeros(capacity), rounds, *additions)


def reservoir_place(address: Address, round: int, count: int, capacity: int) -> int:
    """Return the place of observation number `count`, from 1, or EMPTY.

    The first `capacity` are kept in order. Then each comes in with probability capacity / count,
    for one drawn uniformly.

    Reference: J. S. Vitter, "Random Sampling with a Reservoir", ACM Transactions on Mathematical
    Software 11 (1985).
    """
    if count <= capacity:
        return count - 1
    place = int(address.generator(Stream.RESERVOIR, round).integers(count))
    return place if place < capacity else EMPTY


def drawn_places(address: Address, round: int, steps: int, batch: int, filled: int) -> IntArray:
    """Draw the places of a round's minibatches [steps, B]: all, in order, if no more than fit."""
    if filled <= batch:
        return np.tile(np.arange(filled), (steps, 1))
    return address.generator(Stream.REPLAY, round).integers(filled, size=(steps, batch))


class MemberAdditions:
    """Cache of perturbations and prior outputs for the observations in a memory."""

    def __init__(self, nets: Nets, prior: FloatArray | None, law: Perturbation, memory: Memory):
        self.nets, self.prior, self.law, self.memory = nets, prior, law, memory
        self._rounds = np.full(memory.capacity, EMPTY, np.int64)  # whose values are in each place
        self._sizes = np.zeros(nets.dim)  # the units that prior outputs were computed in
        self._by_row: dict[bytes, FloatArray] = {}  # standing arms come again and again

    def prepare(
        self,
        address: Address,
        places: IntArray,
        newest: tuple[int, int, FloatArray],
        sizes: FloatArray,
    ) -> None:
        """Compute what is missing in these places; `newest` is (place, round, x)."""
        if self.prior is not None and not np.array_equal(sizes, self._sizes):
            self._rounds[:], self._sizes = EMPTY, sizes.copy()
        place, memory = newest[0], self.memory
        missing = places[self._rounds[places] != memory.rounds[places]]
        others = np.unique(missing[missing != place]).tolist()
        wanted = [newest] if place != EMPTY else []
        wanted += [(at, int(memory.rounds[at]), memory.features[at]) for at in others]
        for at, round, x in wanted:
            self._rounds[at] = EMPTY  # until both are there
            rng, shape = address.generator(Stream.PERTURBATION, round), (self.nets.size,)
            memory.perturbations[at] = drawn(self.law, self.law.draw(rng, shape), shape)
            if self.prior is not None:
                memory.prior_outputs[at] = self.prior_outputs(x, self._sizes)
            self._rounds[at] = round

    def prior_outputs(self, x: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the outputs of prior networks for features x [d] in these units: [m] or [0]."""
        if self.prior is None:
            return np.empty(0)
        row = in_units(x[None], sizes)
        key = row.tobytes()
        if key not in self._by_row:
            if len(self._by_row) >= KEPT:
                self._by_row.clear()
            self._by_row[key] = np.ascontiguousarray(self.nets.outputs(self.prior, row)[:, 0])
        return self._by_row[key]


def typical_sizes(rows: FloatArray) -> FloatArray:
    """Return the root mean square of each column's entries that are not 0; 0 where all are: [d]."""
    counts = np.maximum((rows != 0.0).sum(axis=0), 1)
    return np.asarray(np.sqrt(np.square(rows).sum(axis=0) / counts))


def in_units(rows: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return rows as networks see them: [K, d]."""
    if not sizes.all():
        here = typical_sizes(rows)
        sizes = np.where(sizes > 0.0, sizes, np.where(here > 0.0, here, 1.0))
    seen = np.empty(rows.shape)
    _core.scale_rows(np.ascontiguousarray(rows), sizes, seen)
    return seen
