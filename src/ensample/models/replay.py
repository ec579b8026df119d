"""What networks learn from: observations kept in bounded memory, drawn again and again."""

from typing import NamedTuple

import numpy as np

from ensample.models.networks import Nets
from ensample.models.units import in_units
from ensample.perturbations import Perturbation, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

EMPTY = (
    -1
)  # the round of a place that holds nothing, and the place of an observation that is not kept
KEPT = 1024  # rows whose prior outputs are kept beside those of the memory


class Memory(NamedTuple):
    """Uniform sample, without replacement, of all observations so far, and what each member adds to them.

    Perturbations Z_i^j and prior outputs p^j(x_i) are pure functions, of (seed, round) and of the features, and no part of the
    learned state: they are kept by place, and computed again where another observation has taken it or units have changed.
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
    additions = np.empty((capacity, size)), np.empty((capacity, size if has_prior else 0))
    return Memory(
        np.zeros((capacity, dim)),
        np.zeros(capacity),
        np.full(capacity, EMPTY, np.int64),
        *additions,
    )


def reservoir_place(address: Address, round: int, count: int, capacity: int) -> int:
    """Return the place of observation number `count`, from 1, or EMPTY: a pure function of (seed, round) and the numbers.

    The first `capacity` are kept in order. Then each comes in with probability capacity / count, for one drawn uniformly.

    Reference: J. S. Vitter, "Random Sampling with a Reservoir", ACM Transactions on Mathematical Software 11 (1985).
    """
    if count <= capacity:
        return count - 1
    place = int(address.generator(Stream.RESERVOIR, round).integers(count))
    return place if place < capacity else EMPTY


def drawn_places(address: Address, round: int, steps: int, batch: int, filled: int) -> IntArray:
    """Draw the places of a round's minibatches: [steps, B].

    All of them, in order, while there are no more than fit.
    """
    if filled <= batch:
        return np.tile(np.arange(filled), (steps, 1))
    return address.generator(Stream.REPLAY, round).integers(filled, size=(steps, batch))


class MemberAdditions:
    """Cache of perturbations and prior outputs for the observations in a memory."""

    def __init__(
        self,
        nets: Nets,
        prior: FloatArray | None,
        law: Perturbation,
        address: Address,
        memory: Memory,
    ) -> None:
        self.nets, self.prior, self.law, self.address, self.memory = (
            nets,
            prior,
            law,
            address,
            memory,
        )
        self._rounds = np.full(
            memory.capacity, EMPTY, np.int64
        )  # of the observation whose values are in each place
        self._sizes = np.zeros(nets.dim)  # the units that prior outputs were computed in
        self._by_row: dict[bytes, FloatArray] = {}  # a cache: standing arms come again and again

    def prepare(
        self, places: IntArray, newest: tuple[int, int, FloatArray], sizes: FloatArray
    ) -> None:
        """Compute what is missing in these places.

        `newest` is (place, round, x) of the new observation.
        """
        if self.prior is not None and not np.array_equal(sizes, self._sizes):
            self._rounds[:], self._sizes = EMPTY, sizes.copy()
        place, round, x = newest
        if place != EMPTY:
            self._compute(place, round, x)
        missing = places[self._rounds[places] != self.memory.rounds[places]]
        for other in np.unique(missing[missing != place]).tolist():
            self._compute(other, int(self.memory.rounds[other]), self.memory.features[other])

    def _compute(self, place: int, round: int, x: FloatArray) -> None:
        memory = self.memory
        self._rounds[place] = EMPTY  # until both are there
        shape = (self.nets.size,)
        rng = self.address.generator(Stream.PERTURBATION, round)
        memory.perturbations[place] = drawn(self.law, self.law.draw(rng, shape), shape)
        if self.prior is not None:
            memory.prior_outputs[place] = self.prior_outputs(x, self._sizes)
        self._rounds[place] = round

    def prior_outputs(self, x: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the outputs of prior networks for features x [d] in these units: [m], or [0] where there are none."""
        if self.prior is None:
            return np.empty(0)
        row = in_units(x[None], sizes)
        key = row.tobytes()
        if key not in self._by_row:
            if len(self._by_row) >= KEPT:
                self._by_row.clear()
            self._by_row[key] = np.ascontiguousarray(self.nets.outputs(self.prior, row)[:, 0])
        return self._by_row[key]
