"""Linear models with an intercept: one more feature, which is always 1 and which the prior leaves alone."""

import math

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Offer
from ensample.calibration import Unknown
from ensample.models.ensemble import LinearEnsemble
from ensample.models.linear import LinearModel, best_for
from ensample.models.ridge import FREE_PRIOR
from ensample.models.search import greedy_arms
from ensample.perturbations import InitialLaw, Perturbation
from ensample.randomness import Address
from ensample.types import FloatArray, IntArray


class WithIntercept(LinearModel):
    """An ensemble that learns from (x, 1): put before the linear ensemble that it changes.

    The last entry of theta^j is the member's intercept, the same for all arms, which no choice among them needs. Rewards are
    learned relative to the first one, `origin`: a number added to all of them changes nothing but the intercepts.
    """

    origin: FloatArray

    @property
    def mean(self) -> FloatArray:
        return self.in_rewards(self.parts.mean)

    def in_rewards(self, thetas: FloatArray) -> FloatArray:
        """A copy of [d + 1] or [d + 1, m] with intercepts that are no longer relative to the origin."""
        thetas = thetas.copy()
        thetas[-1] += self.origin[0]
        return thetas

    def theta(self, member: int) -> FloatArray:
        return self.in_rewards(super().theta(member))

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        theta = self.theta(member)
        return np.asarray(rows @ theta[:-1] + theta[-1])

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm, x = best_for(super().theta(member)[:-1], self.in_known_units(offer))
        return (arm, x) if arm is None or offer.rows is None else (arm, offer.rows[arm])

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Promises are relative to the origin, which is the same for all members."""
        thetas = self.thetas()
        slopes, intercepts = thetas[:-1], thetas[-1]
        if offer.rows is None:
            return np.zeros(0, np.int64), offer.promises(slopes.T) + intercepts
        chosen, promises = greedy_arms(slopes, self.in_known_units(offer))
        return chosen, promises + intercepts

    def estimates(self, round: int) -> FloatArray:
        return np.ascontiguousarray(self.in_rewards(self.thetas()).T)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "origin": self.origin}


class EnsembleWithIntercept(WithIntercept, LinearEnsemble):
    """A linear ensemble of stored members with an intercept."""

    def __init__(
        self,
        dim: int,
        prior: float | Unknown,
        size: int,
        initial: InitialLaw,
        reward: Perturbation,
        address: Address,
        boldness: float = 1.0,
    ) -> None:
        """`dim` is that of the features, without the constant."""
        LinearEnsemble.__init__(
            self, dim + 1, prior_with_constant(dim, prior), size, initial, reward, address, boldness
        )
        self.origin = np.zeros(1)
        if self.unknown is None:
            self.sums[dim] *= math.sqrt(FREE_PRIOR)  # W^j has the covariance of the prior


def prior_with_constant(dim: int, prior: float | Unknown) -> FloatArray | Unknown:
    """Return the prior of features and constant: lam for the features, next to nothing for the constant [dim + 1]."""
    return np.append(np.full(dim, prior), FREE_PRIOR * prior) if isinstance(prior, float) else prior
