"""Linear ensembles: one ridge regression, and members that are stored or drawn anew each round."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.calibration import Unknown
from ensample.member_rules import UniformMember
from ensample.memory import aligned, check_memory
from ensample.models.base import Advice, Choice, EnsemblePlan, RewardModel
from ensample.models.linear import LinearModel
from ensample.models.ridge import FREE_PRIOR
from ensample.perturbations import Gaussian, InitialLaw, drawn
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.models.glm import GeneralizedLinear

BLOCK = 1 << 14  # perturbations drawn together: moving a generator costs more than drawing a few
KEPT = 1 << 19  # perturbations kept for rewards that come out of order
AGE_OF_PRIOR = 0  # index into `ages`: A of cpp/fresh.hpp


class LinearEnsemble(LinearModel):
    """theta^j = theta_hat + V^-1 S^j with stored S^j = W^j + sum_i X_i Z_i^j: Algorithm 1.

    Where the past fades S^j does too, and is fed by fresh draws of W so that its covariance follows
    V. With a link it is a linear ensemble in the features sqrt(w) x of the stream fit.
    """

    size: int
    root: FloatArray | None = None  # R with R'R = sum x x', of ensembles that keep one [d, d]

    def __init__(
        self,
        plan: EnsemblePlan,
        dim: int,
        prior: float | Unknown,
        address: Address,
        link: "GeneralizedLinear | None" = None,
    ) -> None:
        """Start with laws of scale 1 if scales are unknown: `boldness` sigma multiplies them."""
        super().__init__(dim, prior, plan.rate, link, plan.intercept)
        self.boldness, self.address = plan.boldness, address
        self.size = self._drawn_size = plan.size
        self.initial: InitialLaw = plan.initial_law
        self.law = plan.reward_law
        self.is_usual = self.origin is None and type(self).inflation is LinearEnsemble.inflation
        self.whitened = link is not None and plan.initial is None  # W is in units of the prior
        if self.whitened:
            self.initial = Gaussian(plan.unit_scale)
        W = self._vectors(Stream.INITIAL, 0)
        if self.origin is not None and self.unknown is None:
            W[dim] *= math.sqrt(FREE_PRIOR)  # W^j has the covariance of the prior
        zeros = np.zeros(W.shape)
        parts = (W, zeros) if self.unknown is None else (zeros, zeros, W)
        (self.sums,) = aligned((len(parts) * self.dim, self.size))  # S^j, a column a member
        self.sums[:] = np.vstack(parts)
        self.rows_per_block = max(1, BLOCK // self.size)
        self._blocks: dict[int, list[FloatArray]] = {}
        self._near: tuple[int, list[FloatArray]] = 0, []  # first round and rows of the last block

    @property
    def inflation(self) -> float:
        return 1.0 if self.unknown is None else self.boldness * self.sigma

    def choose(self, round: int, offer: Offer) -> Choice:
        usual = self.is_usual and type(self.rule) is UniformMember
        if not usual or offer.rows is None or offer.searched:
            return super().choose(round, offer)
        member, factor = int(self.address.uniform(round) * self.size), 1.0
        if self.unknown is not None:
            factor = self.boldness * (math.sqrt(self.known.noise[0]) or 1.0)
        known = self.in_known_units(offer) if self.learns_sizes else offer
        arm = _core.best_arm_of_member(self.state, self.sums, factor, member, known.by_coordinate)
        return member, arm, offer.each[arm]

    def advise(self, round: int, offer: Offer) -> Advice:
        """Return choice and propensities, by one count of all votes in the usual case."""
        if type(self) is not LinearEnsemble or type(self.rule) is not UniformMember:
            return super().advise(round, offer)
        if self.link is not None or self.origin is not None:
            return super().advise(round, offer)
        columns, member = offer.by_coordinate, int(self.address.uniform(round) * self.size)
        return advice_of(self.greedy_votes(columns), member, columns.shape[1])

    def greedy_votes(self, by_coordinate: FloatArray) -> IntArray:
        """Return each member's greedy arm among columns of [d, K], but for rounding: [m]."""
        sizes = self.known.sizes if self.learns_sizes else np.ones(self.dim)
        return _core.vote(self.state, self.sums, self.inflation, by_coordinate, sizes)

    def theta(self, member: int) -> FloatArray:
        return _core.member_theta(self.state, self.sums, self.inflation, member)

    def thetas(self) -> FloatArray:
        return _core.member_thetas(self.state, self.sums, self.inflation)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        if offer.rows is None or offer.searched or self.origin is not None:
            return super().best(member, offer)
        known = self.in_known_units(offer) if self.learns_sizes else offer
        factors = self.inflation, member, known.by_coordinate
        arm = _core.best_arm_of_member(self.state, self.sums, *factors)
        return arm, offer.each[arm]

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        if self.link is not None:
            x, y = self.response(x, y)
        first, rows = self._near
        if not first <= round < first + len(rows):
            first, rows = self._near = self._around(round)
        fresh = self._vectors(Stream.FADING, round) if self.rate > 0.0 else None
        of_members = self.sums, x, y, rows[round - first], fresh, self.origin, self.root
        _core.learn_members(self.state, *of_members, self.learning, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "sums": self.sums}

    def perturbations(self, round: int) -> FloatArray:
        """Return Z_round^1..m: a function of (seed, round)."""
        first, rows = self._around(round)
        return rows[round - first]

    def _around(self, round: int) -> tuple[int, list[FloatArray]]:
        """Return the first round and the rows of the block that a round is in."""
        block = round // self.rows_per_block
        rows = self._blocks.get(block)
        if rows is None:
            rows = list(self._block(block))  # looking a view up takes a tenth of making one
            if len(self._blocks) * self.rows_per_block * self.size >= KEPT:
                self._blocks.clear()
            self._blocks[block] = rows
        return block * self.rows_per_block, rows

    def _vectors(self, stream: Stream, index: int) -> FloatArray:
        """Draw from the initial law for each member, a column each: [d, m]."""
        shape = self._drawn_size, self.dim
        rng = self.address.generator(stream, index)
        W = np.ascontiguousarray(
            drawn(self.initial, self.initial.draw_vectors(rng, *shape), shape).T
        )
        return np.sqrt(self.parts.prior)[:, None] * W if self.whitened else W

    def _block(self, block: int) -> FloatArray:
        """Draw the perturbations of some rounds together, a row each."""
        shape = self.rows_per_block, self._drawn_size
        rng = self.address.generator(Stream.PERTURBATION, block)
        return drawn(self.law, self.law.draw(rng, shape), shape)


class FreshEnsemble(LinearModel):
    """theta^j = theta_hat + V^-1 S^j with S^j drawn for each round; the first member acts.

    S^j has the law of W + sum_i X_i Z_i by Gaussian perturbations, those of older observations
    being larger where they age (cpp/fresh.hpp). So nothing of a member is kept, and an observation
    takes O(d^2). `at(round)` is the ensemble of a round. With a link it is one in the features
    sqrt(w) x.
    """

    is_fresh: ClassVar[bool] = True
    size: int
    round = 0

    def __init__(
        self,
        plan: EnsemblePlan,
        dim: int,
        prior: float | Unknown,
        address: Address,
        link: "GeneralizedLinear | None" = None,
    ) -> None:
        super().__init__(dim, prior, plan.rate, link, plan.intercept)
        self.size = plan.size
        self.boldness, self.ageing, self.address = plan.boldness, plan.ageing_rate, address
        self.reward_scale, self.initial_scale = plan.reward_law.scale, plan.initial_law.scale
        if link is not None and plan.initial is None:
            self.initial_scale = plan.unit_scale
        elif self.unknown is None:  # over the root of the prior
            self.initial_scale /= math.sqrt(float(self.parts.prior[0]))
        self.root = np.zeros((self.dim, self.dim))
        self.gram_root = np.zeros((self.dim if self.ageing > 0.0 else 0, self.dim))
        self.ages = np.zeros(2)  # A and n_b of cpp/fresh.hpp
        self._normals: tuple[FloatArray, FloatArray] | None = None

    @property
    def inflation(self) -> float:
        return 1.0 if self.unknown is None else self.boldness * self.sigma

    def choose(self, round: int, offer: Offer) -> Choice:
        if offer.rows is None or offer.searched:
            arm, x = self.at(round).best(0, offer)
            return 0, arm, x
        factor = self.boldness * (math.sqrt(self.known.noise[0]) or 1.0) if self.unknown else 1.0
        w, g = self.address.normals(round, (1, self.dim), Stream.INITIAL, Stream.PERTURBATION)
        scales = factor * self.initial_scale, factor * self.reward_scale
        age = self.ages[AGE_OF_PRIOR]
        theta = _core.fresh_thetas(self.state, self.root, age, *scales, w, g)[0]
        known = self.in_known_units(offer) if self.learns_sizes else offer
        slope = theta if self.origin is None else theta[:-1]
        arm = _core.greedy_arm(slope, known.by_coordinate)
        return 0, arm, offer.each[arm]

    def advise(self, round: int, offer: Offer) -> Advice:
        """Return choice and propensities, by one count of all votes in the usual case."""
        if self.link is not None or self.origin is not None:
            return super().advise(round, offer)
        columns = offer.by_coordinate
        return advice_of(self.at(round).greedy_votes(columns), 0, columns.shape[1])

    def greedy_votes(self, by_coordinate: FloatArray) -> IntArray:
        """Return each member's greedy arm among columns of [d, K], but for rounding: [m]."""
        sizes = self.known.sizes if self.learns_sizes else np.ones(self.dim)
        age, scales = self.ages[AGE_OF_PRIOR], self.scales_of_draws()
        draws = self.draws(self.size)
        return _core.vote_fresh(self.state, self.root, age, *scales, *draws, by_coordinate, sizes)

    def propensities(self, round: int, offer: Offer) -> FloatArray:
        return self._shares_of_votes(round, offer)

    def at(self, round: int) -> Self:
        return self._view(round=round)

    def first(self, members: int) -> Self:
        """Return the ensemble of the round's first members."""
        return self._view(size=members)

    def _view(self, **changes: int) -> Self:
        """Return a model with other attributes that shares what was learned."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _normals=None, **changes)
        return other

    def draws(self, members: int) -> tuple[FloatArray, FloatArray]:
        """Return w and g of the round's first members: [members, d] each."""
        if self._normals is None or len(self._normals[0]) < members:
            if members > 1:
                check_memory("size", members, self.numbers_drawn(members))
            streams, shape = (Stream.INITIAL, Stream.PERTURBATION), (members, self.dim)
            w, g = self.address.normals(self.round, shape, *streams)
            self._normals = w, g
        w, g = self._normals
        return w[:members], g[:members]

    def numbers_drawn(self, members: int) -> int:
        """Return how many numbers are drawn for so many members."""
        return 2 * members * self.dim

    def scales_of_draws(self) -> tuple[float, float]:
        """Return the factors of draws of W, in units of the prior's root, and of Z."""
        return self.inflation * self.initial_scale, self.inflation * self.reward_scale

    def members(self, count: int) -> FloatArray:
        """Return theta^j of the round's first members: [count, d]."""
        age, scales = self.ages[AGE_OF_PRIOR], self.scales_of_draws()
        return _core.fresh_thetas(self.state, self.root, age, *scales, *self.draws(count))

    def theta(self, member: int) -> FloatArray:
        theta: FloatArray = self.members(member + 1)[member]
        return theta

    def thetas(self) -> FloatArray:
        return np.ascontiguousarray(self.members(self.size).T)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        if self.link is not None:
            x, y = self.response(x, y)
        roots = self.root, self.gram_root, self.ages, self.ageing
        _core.learn_fresh(self.state, *roots, x, y, self.origin, self.learning, self.link_code)

    def fault(self) -> str | None:
        return super().fault() or ("ages below 0" if (self.ages < 0.0).any() else None)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        roots = {"root": self.root, "gram_root": self.gram_root, "ages": self.ages}
        return {**super().arrays(), **roots}


def advice_of(votes: IntArray, member: int, arms: int) -> Advice:
    """Return the advice of members that are equally likely, of which one acts."""
    shares = np.bincount(votes, minlength=arms) / votes.size
    return Advice(member, int(votes[member]), shares.tolist())


@dataclass(frozen=True)
class Linear(RewardModel):
    """E[Y | x] = x'theta, the model of the paper and of every recipe that is not told otherwise.

    >>> import ensample as es
    >>> es.EnsembleSampling(model=es.Linear()) == es.EnsembleSampling()
    True
    """

    def why_not_fresh(self) -> str:
        return ""

    def member_numbers(self, dim: int) -> int:
        return 2 * dim

    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> LinearModel:
        kind = FreshEnsemble if plan.draws_fresh else LinearEnsemble
        return kind(plan, arms.dim, plan.prior(arms), address)


LINEAR = Linear()
