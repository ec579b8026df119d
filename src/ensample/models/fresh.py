"""A linear ensemble that is drawn anew each round."""

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.calibration import Unknown
from ensample.memory import check_memory
from ensample.models.description import EnsemblePlan
from ensample.models.generalized import GeneralizedLinear
from ensample.models.intercept import WithIntercept, prior_with_constant
from ensample.models.linear import LinearModel
from ensample.models.search import greedy_arms
from ensample.models.streamed import Streamed
from ensample.perturbations.gaussian import standard_normals
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

AGE_OF_PRIOR, AGED_AT = 0, 1  # indices into `ages`: A and n_b of cpp/fresh.hpp


class FreshEnsemble(LinearModel):
    """theta^j = theta_hat + V^-1 S^j with S^1, ..., S^m drawn for each round; the first member acts.

    S^j has the law of W + sum_i X_i Z_i by Gaussian perturbations, those of older observations being larger where they age
    (cpp/fresh.hpp). So nothing of a member is kept, and an observation takes O(d^2). `at(round)` is the ensemble of a round.
    """

    is_fresh: ClassVar[bool] = True
    size: int
    round = 0

    def __init__(
        self, dim: int, prior: float | FloatArray | Unknown, plan: EnsemblePlan, address: Address
    ) -> None:
        super().__init__(dim, prior, plan.rate)
        self.size = plan.size
        self.boldness = plan.boldness
        self.ageing = plan.ageing_rate
        self.address = address
        self.reward_scale = plan.reward_law.scale
        self.initial_scale = self.scale_of_prior(plan)
        self.root = np.zeros((dim, dim))
        self.gram_root = np.zeros((dim if self.ageing > 0.0 else 0, dim))
        self.ages = np.zeros(2)  # see AGE_OF_PRIOR, AGED_AT
        self._drawn: tuple[FloatArray, FloatArray] | None = None
        self._ones = np.ones(dim)

    def scale_of_prior(self, plan: EnsemblePlan) -> float:
        """Return the scale of W over the root of the prior."""
        scale = plan.initial_law.scale
        return scale if self.unknown is not None else scale / math.sqrt(float(self.parts.prior[0]))

    @property
    def inflation(self) -> float:
        """Return the factor of the perturbations."""
        return 1.0 if self.unknown is None else self.boldness * self.sigma

    def at(self, round: int) -> Self:
        return self.view_with(round=round)

    def first(self, members: int) -> Self:
        """Return the ensemble of the round's first members."""
        return self.view_with(size=members)

    def view_with(self, **changes: int) -> Self:
        """Return a model with other attributes that shares what was learned."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _drawn=None, **changes)
        return other

    def draws(self, members: int) -> tuple[FloatArray, FloatArray]:
        """Return w and g of the round's first members: [members, d] each."""
        if self._drawn is None or len(self._drawn[0]) < members:
            if members > 1:
                check_memory("size", members, self.numbers_drawn(members))
            shape = members, self.dim
            w = standard_normals(self.address.generator(Stream.INITIAL, self.round), shape)
            self._drawn = (
                w,
                standard_normals(self.address.generator(Stream.PERTURBATION, self.round), shape),
            )
        w, g = self._drawn
        return w[:members], g[:members]

    def numbers_drawn(self, members: int) -> int:
        """Return how many numbers are drawn for so many members."""
        return 2 * members * self.dim

    def scales_of_draws(self) -> tuple[float, float]:
        """Return what multiplies draws of W, in units of the prior's root, and of Z."""
        return self.inflation * self.initial_scale, self.inflation * self.reward_scale

    def members(self, count: int) -> FloatArray:
        """Return theta^j of the round's first members: [count, d]."""
        age = self.ages[AGE_OF_PRIOR]
        return _core.fresh_thetas(
            self.state, self.root, age, *self.scales_of_draws(), *self.draws(count)
        )

    def theta(self, member: int) -> FloatArray:
        theta: FloatArray = self.members(member + 1)[member]
        return theta

    def thetas(self) -> FloatArray:
        """Return theta^j of every member: [d, m]."""
        return np.ascontiguousarray(self.members(self.size).T)

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
        age, drawn = self.ages[AGE_OF_PRIOR], self.draws(self.size)
        return _core.vote_fresh(
            self.state, self.root, age, *self.scales_of_draws(), *drawn, by_coordinate, sizes
        )

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        state, root, gram_root, ages = self.state, self.root, self.gram_root, self.ages
        _core.learn_fresh(
            state,
            root,
            gram_root,
            ages,
            self.ageing,
            x,
            y,
            self.origin,
            self.learning,
            self.link_code,
        )

    def fault(self) -> str | None:
        return super().fault() or ("ages below 0" if (self.ages < 0.0).any() else None)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {
            **super().arrays(),
            "root": self.root,
            "gram_root": self.gram_root,
            "ages": self.ages,
        }


class FreshWithIntercept(WithIntercept, FreshEnsemble):
    """A fresh ensemble with a constant feature that the prior leaves alone."""

    def __init__(
        self, dim: int, prior: float | Unknown, plan: EnsemblePlan, address: Address
    ) -> None:
        FreshEnsemble.__init__(self, dim + 1, prior_with_constant(dim, prior), plan, address)
        self.origin = np.zeros(1)


class FreshStream(Streamed, FreshEnsemble):
    """A fresh ensemble in the features sqrt(w) x of the stream fit."""

    def __init__(
        self, link: GeneralizedLinear, plan: EnsemblePlan, arms: Arms, address: Address
    ) -> None:
        self.link = link
        super().__init__(arms.dim, plan.prior(arms), plan, address)

    def scale_of_prior(self, plan: EnsemblePlan) -> float:
        return plan.unit_scale if plan.initial is None else super().scale_of_prior(plan)
