"""What each member adds to an observation: its perturbation, and what its prior network says of it.

Both are pure functions, of (seed, round) and of the features. What was computed is kept by its place in memory, and computed
again, one row at a time as before, where another observation has taken the place or the units have changed: so a policy that
was loaded or replayed has the same bits as one that went on.
"""

import numpy as np

from ensample.models.nets import Nets
from ensample.models.replay import EMPTY
from ensample.perturbations import Perturbation, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

__all__ = ["Recall"]

KEPT = 1024  # rows whose outputs are kept beside those of the memory: arms that stand are played again and again


class Recall:
    """Perturbations Z_i^j, and prior outputs p^j(x_i), of what is in memory."""

    def __init__(self, nets: Nets, prior: FloatArray | None, law: Perturbation, address: Address, capacity: int) -> None:
        self.nets, self.prior, self.law, self.address = nets, prior, law, address
        self._rounds = np.full(capacity, EMPTY, np.int64)  # whose values are kept in each place
        self._sizes = np.zeros(nets.dim)  # the units that they were computed in
        self._z = np.empty((capacity, nets.size))
        self._outputs = np.empty((capacity, nets.size)) if prior is not None else None
        self._told: dict[bytes, FloatArray] = {}  # outputs by row, of those that were asked for last
        self._room = nets.room()

    def rows(
        self, places: IntArray, rounds: IntArray, seen: FloatArray, sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """(perturbations [B, m], outputs of prior networks [B, m]) of rows in memory, as networks see them [B, d]."""
        if not np.array_equal(sizes, self._sizes):
            self._rounds[:] = EMPTY
            self._sizes = sizes.copy()
        for k in np.flatnonzero(self._rounds[places] != rounds):
            self._compute(int(places[k]), int(rounds[k]), seen[k])
        return self._z[places], None if self._outputs is None else self._outputs[places]

    def _compute(self, place: int, round: int, x: FloatArray) -> None:
        self._rounds[place] = EMPTY  # until both are there
        self._z[place] = self.perturbations(round)
        if self._outputs is not None and self.prior is not None:
            self._outputs[place] = self.outputs(x)
        self._rounds[place] = round

    def outputs(self, x: FloatArray) -> FloatArray:
        """What prior networks say of one row, as networks see it [d]: [m]."""
        assert self.prior is not None
        row = x.tobytes()
        if row not in self._told:
            if len(self._told) >= KEPT:
                self._told.clear()
            self._told[row] = self.nets.forward(self.prior, x[None], self._room)[1][0]
        return self._told[row]

    def perturbations(self, round: int) -> FloatArray:
        """Z_round^1..m."""
        shape = (self.nets.size,)
        return drawn(self.law, self.law.draw(self.address.generator(Stream.PERTURBATION, round), shape), shape)
