"""A linear ensemble: one ridge regression, and a perturbation sum for each member."""

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Offer
from ensample.calibration import Unknown
from ensample.memory import aligned
from ensample.models.linear import LinearModel, best_for
from ensample.models.search import greedy_arm, greedy_arms
from ensample.perturbations import InitialLaw, Perturbation, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

ROW_BLOCK = (
    1 << 14
)  # perturbations drawn together: several rounds of a small ensemble, one of a large one
KEPT = 1 << 19  # perturbations kept at hand for rewards that come out of order


class LinearEnsemble(LinearModel):
    """theta^j = theta_hat + V^-1 S^j with S^j = W^j + sum_i X_i Z_i^j: what Algorithm 1 minimises, for all members.

    Where the past fades S^j does too, and is fed by fresh draws of W so that its covariance follows V.
    """

    size: int
    root: FloatArray | None = None  # R with R'R = sum x x', of ensembles that keep one [d, d]

    def __init__(
        self,
        dim: int,
        prior: float | FloatArray | Unknown,
        size: int,
        initial: InitialLaw,
        reward: Perturbation,
        address: Address,
        boldness: float = 1.0,
        rate: float = 0.0,
    ) -> None:
        """Start with laws of scale 1 if the scales are unknown: then `boldness` times sigma multiplies the perturbations."""
        super().__init__(dim, prior, rate)
        self.boldness = boldness
        self.plain = (
            self.unknown is None and type(self).inflation is LinearEnsemble.inflation
        )  # whether the inflation is 1
        self.size = self._drawn = size
        self.initial, self.law = initial, reward
        self.address = address
        W = self._vectors(Stream.INITIAL, 0)
        zeros = np.zeros((dim, size))
        parts = (W, zeros) if self.unknown is None else (zeros, zeros, W)
        (self.sums,) = aligned(
            (len(parts) * dim, size)
        )  # S^j, a column a member (cpp/ensemble.hpp) [2d or 3d, m]
        self.sums[:] = np.vstack(parts)
        self.rows_per_block = max(1, ROW_BLOCK // size)
        self._blocks: dict[int, list[FloatArray]] = {}
        self._ones = np.ones(dim)
        self._near: tuple[int, list[FloatArray]] = (
            0,
            [],
        )  # the last block used: its first round and its rows

    @property
    def inflation(self) -> float:
        if self.unknown is None:
            return 1.0
        return self.boldness * self.sigma

    def theta(self, member: int) -> FloatArray:
        return _core.member_theta(self.state, self.sums, self.inflation, member)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        if offer.rows is None:
            return best_for(self.theta(member), offer)
        if offer.searched:
            arm = greedy_arm(self.theta(member), self.in_known_units(offer))
        elif self.plain:
            arm = _core.best_arm_of_member(self.state, self.sums, 1.0, member, offer.by_coordinate)
        else:
            known = self.in_known_units(offer)
            arm = _core.best_arm_of_member(
                self.state, self.sums, self.inflation, member, known.by_coordinate
            )
        return arm, offer.each[arm]

    def thetas(self) -> FloatArray:
        return _core.member_thetas(self.state, self.sums, self.inflation)

    def estimates(self, round: int) -> FloatArray:
        return np.ascontiguousarray(self.thetas().T)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        if offer.rows is None:
            return np.zeros(0, np.int64), offer.promises(self.thetas().T)
        return greedy_arms(self.thetas(), self.in_known_units(offer))

    def greedy_votes(self, by_coordinate: FloatArray) -> IntArray:
        """Return each member's greedy arm among the columns of [d, K]: [m].

        As `votes`, but for rounding; no theta is kept.
        """
        known = self.unknown is not None and self.unknown.sizes is None
        sizes = self.known.sizes if known else self._ones
        return _core.vote(self.state, self.sums, self.inflation, by_coordinate, sizes)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        first, rows = self._near
        if not first <= round < first + len(rows):
            first, rows = self._near = self._around(round)
        fresh = self._vectors(Stream.FADING, round) if self.rate > 0.0 else None
        of_members = self.sums, x, y, rows[round - first], fresh, self.origin, self.root
        _core.learn_members(self.state, *of_members, self.learning, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "sums": self.sums}

    def perturbations(self, round: int) -> FloatArray:
        """Row Z_round^1..m: a pure function of (seed, round)."""
        first, rows = self._around(round)
        return rows[round - first]

    def _around(self, round: int) -> tuple[int, list[FloatArray]]:
        """The block that a round is in: its first round and its rows."""
        block = round // self.rows_per_block
        rows = self._blocks.get(block)
        if rows is None:
            rows = list(
                self._block(block)
            )  # a view a round: to look one up takes a tenth of making one
            if len(self._blocks) * self.rows_per_block * self.size >= KEPT:
                self._blocks.clear()
            self._blocks[block] = rows
        return block * self.rows_per_block, rows

    def _vectors(self, stream: Stream, index: int) -> FloatArray:
        """A draw of the initial law for each member, a column each: [d, m]."""
        shape = self._drawn, self.dim
        W = drawn(
            self.initial,
            self.initial.draw_vectors(self.address.generator(stream, index), *shape),
            shape,
        )
        return np.ascontiguousarray(W.T)

    def _block(self, block: int) -> FloatArray:
        """The perturbations of some rounds together, a row each: moving a generator costs more than drawing a few numbers."""
        shape = self.rows_per_block, self._drawn
        return drawn(
            self.law,
            self.law.draw(self.address.generator(Stream.PERTURBATION, block), shape),
            shape,
        )
