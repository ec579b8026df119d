"""Where lazy kernels keep the members that have acted: a hash table from member to slot."""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import embedded, kernel
from ensample.types import IntArray

__all__ = ["Slots", "find_slot", "new_slots"]

EMPTY = -1


class Slots(NamedTuple):
    """Linear probing; the sizes are a power of two, at least twice the number of members that can act."""

    members: IntArray  # a member or EMPTY
    slots: IntArray  # where it is kept


@kernel
def new_slots(members: int) -> Slots:
    """Room for this many."""
    places = 2
    while places < 2 * members:
        places *= 2
    return Slots(np.full(places, EMPTY, np.int64), np.zeros(places, np.int64))


@embedded
def find_slot(table: Slots, used: int, member: int) -> int:
    """Where a member is kept, `used` if it is new (and then it is entered)."""
    mask = table.members.size - 1
    place = (member * 0x9E3779B1) & mask
    while table.members[place] != EMPTY and table.members[place] != member:
        place = (place + 1) & mask
    if table.members[place] == EMPTY:
        table.members[place] = member
        table.slots[place] = used
    return table.slots[place]
