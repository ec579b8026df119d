"""What networks learn from: observations kept in bounded memory, drawn again and again."""

from typing import NamedTuple

import numpy as np

from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

__all__ = ["EMPTY", "Memory", "drawn_places", "new_memory", "reservoir_place"]

EMPTY = -1  # the round of a place that holds nothing, and the place of an observation that is not kept


class Memory(NamedTuple):
    """A uniform sample, without replacement, of all observations so far."""

    features: FloatArray  # [C, d]
    rewards: FloatArray  # [C]
    rounds: IntArray  # [C], EMPTY where nothing is kept yet

    @property
    def capacity(self) -> int:
        return len(self.rewards)


def new_memory(capacity: int, dim: int) -> Memory:
    return Memory(np.zeros((capacity, dim)), np.zeros(capacity), np.full(capacity, EMPTY, np.int64))


def reservoir_place(address: Address, round: int, count: int, capacity: int) -> int:
    """Where observation number `count`, from 1, is kept, or EMPTY: a pure function of (seed, round) and the two numbers.

    The first `capacity` are kept in order. Then each comes in with probability capacity / count, for one drawn uniformly.

    Reference: J. S. Vitter, "Random Sampling with a Reservoir", ACM Transactions on Mathematical Software 11 (1985).
    """
    if count <= capacity:
        return count - 1
    place = int(address.generator(Stream.RESERVOIR, round).integers(count))
    return place if place < capacity else EMPTY


def drawn_places(address: Address, round: int, steps: int, batch: int, filled: int) -> IntArray:
    """The places of a round's minibatches: [steps, B]. All of them, in order, while there are no more than fit."""
    if filled <= batch:
        return np.tile(np.arange(filled), (steps, 1))
    return address.generator(Stream.REPLAY, round).integers(filled, size=(steps, batch))
