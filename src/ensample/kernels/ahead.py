"""Who acts when, drawn before the first round: which members act again is then known, and of the others nothing is kept."""

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.slots import find_slot, new_slots
from ensample.kernels.turns import Ensemble, next_member
from ensample.types import IntArray

__all__ = ["many_once", "places_ahead"]

FEW = 3  # rounds for each member, on average; with so many a sixth of those that act do so once


@embedded
def many_once(ensemble: Ensemble, horizon: int) -> bool:
    """Whether so many members act but once that it is worth knowing which. It takes 8 bytes a round."""
    return ensemble.size * FEW >= horizon


@kernel
def places_ahead(ensemble: Ensemble, first: int, horizon: int, rng: Generator) -> tuple[IntArray, int]:
    """The place of the member of each round from `first` on [T], and the number of places.

    Members that act in several rounds have one each, in the order of their first time; all others share the last.
    """
    most = min(ensemble.size, horizon)
    table, rounds, own = new_slots(most), np.zeros(most, np.int64), np.empty(most, np.int64)
    places = np.zeros(horizon, np.int64)
    used, member = 0, -1
    for t in range(first, horizon):
        member = next_member(ensemble, t, member, rng)
        slot = find_slot(table, used, member)
        if slot == used:
            used += 1
        rounds[slot] += 1
        places[t] = slot
    again = 0
    for slot in range(used):
        own[slot] = again
        if rounds[slot] > 1:
            again += 1
    for t in range(first, horizon):
        slot = places[t]
        places[t] = own[slot] if rounds[slot] > 1 else again
    return places, again + 1
