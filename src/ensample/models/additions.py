"""What each member adds to an observation: its perturbation, and what its prior network says of it.

Both are pure functions, of (seed, round) and of the features. What was computed is kept by its place in memory, and computed
again, one row at a time as before, where another observation has taken the place or the units have changed: so a policy that
was loaded or replayed has the same bits as one that went on.
"""

import numpy as np

from ensample.kernels.minibatches import measured
from ensample.models.nets import Nets
from ensample.models.replay import EMPTY
from ensample.perturbations import Perturbation, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray

__all__ = ["Additions"]

KEPT = 1024  # rows whose outputs are kept beside those of the memory: arms that stand are played again and again


class Additions:
    """Perturbations Z_i^j, and prior outputs p^j(x_i), of what is in memory."""

    def __init__(self, nets: Nets, prior: FloatArray | None, law: Perturbation, address: Address, capacity: int) -> None:
        self.nets, self.prior, self.law, self.address = nets, prior, law, address
        self.known = np.full(capacity, EMPTY, np.int64)  # the rounds whose values are kept in each place
        self._sizes = np.zeros(nets.dim)  # the units that they were computed in
        self.z = np.empty((capacity, nets.size))
        self.told = np.empty((capacity, 0 if prior is None else nets.size))
        self._by_row: dict[bytes, FloatArray] = {}  # outputs by row, of those that were asked for last
        self._room = nets.room()

    def begin(self, before: FloatArray, after: FloatArray, x: FloatArray, told: FloatArray) -> None:
        """A round whose observation x [d] is seen in the units of before, and all others in those after it: [d] each.

        What prior networks say of x is put into `told`. What they said in other units is forgotten; perturbations have none.
        """
        if self.prior is None:
            return
        told[:] = self.outputs(in_these(x, before))
        if not np.array_equal(after, self._sizes):
            self.known[:] = EMPTY
            self._sizes = after.copy()

    def compute(self, place: int, round: int, x: FloatArray, sizes: FloatArray) -> None:
        """What goes with the observation x [d] of a round, in its place."""
        self.known[place] = EMPTY  # until both are there
        self.z[place] = self.perturbations(round)
        if self.prior is not None:
            self.told[place] = self.outputs(in_these(x, sizes))
        self.known[place] = round

    def outputs(self, x: FloatArray) -> FloatArray:
        """What prior networks say of one row, as networks see it [d]: [m]."""
        assert self.prior is not None
        row = x.tobytes()
        if row not in self._by_row:
            if len(self._by_row) >= KEPT:
                self._by_row.clear()
            self._by_row[row] = self.nets.forward(self.prior, x[None], self._room)[1][:, 0]
        return self._by_row[row]

    def perturbations(self, round: int) -> FloatArray:
        """Z_round^1..m."""
        shape = (self.nets.size,)
        return drawn(self.law, self.law.draw(self.address.generator(Stream.PERTURBATION, round), shape), shape)


def in_these(x: FloatArray, sizes: FloatArray) -> FloatArray:
    """One row as networks see it in these units: [d]."""
    seen = np.empty((1, x.size))
    measured(x[None], sizes, seen)
    return seen.ravel()
