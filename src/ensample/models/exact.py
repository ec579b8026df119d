"""Generalised linear models by the exact fit: minimisers of perturbed losses, by Newton's method to 1e-10.

They are computed when they are asked for. The centre starts where the stream fit is, another minimiser at theta_hat + H^-1
shift: both are functions of the state, so that deciding is one too. On standing arms losses are sums over arms, O(K d^2) a
step. Observations of other features are taken from the log, which then must be kept: O(n d^2) a step.
"""

import warnings
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, Offer
from ensample.errors import ConvergenceWarning, InvalidArgument
from ensample.kernels import ensemble
from ensample.kernels.links import NO_LINK
from ensample.kernels.newton import HALVINGS, MOST_STEPS, TOLERANCE, curvature, minimise, narrowed, newton_step
from ensample.kernels.ridge import invert, times, triangle
from ensample.models.description import EnsemblePlan
from ensample.models.generalized import GeneralizedLinear
from ensample.models.linear import best_for
from ensample.models.search import greedy_arms
from ensample.models.streamed import Streamed, StreamEnsemble
from ensample.randomness import Address
from ensample.types import FloatArray, IntArray

__all__ = ["Centre", "ExactEnsemble", "ExactFit", "Seen", "fitted", "inverse_of", "root_of"]

LEAST_EIGENVALUE = 1e-15  # of a Hessian scaled to a unit diagonal: less is rounding


class Seen(NamedTuple):
    """Rewards by rows of features."""

    rows: FloatArray  # [n, d]
    counts: FloatArray  # how often each was seen, or what that counts for where the past fades [n]
    totals: FloatArray  # the sums of its rewards [n]


class Centre(NamedTuple):
    """The minimiser of the loss that is not perturbed."""

    version: int  # the number of observations in it
    seen: Seen
    theta: FloatArray  # [d]
    hessian: FloatArray  # [d, d]
    inverse: FloatArray  # of the Hessian [d, d]


def fitted(link: GeneralizedLinear, seen: Seen, prior: FloatArray, shift: FloatArray, start: FloatArray) -> FloatArray:
    """argmin_theta of the loss perturbed by `shift`: [d]. One that has not converged says so."""
    theta = start.copy()
    if link.code == NO_LINK:
        converged = minimise_any(link, seen, prior, shift, theta)
    else:
        converged = minimise(link.code, *seen, prior, shift, theta, TOLERANCE)
    if not converged:
        warnings.warn(f"{link!r}: not converged to {TOLERANCE:g} in {MOST_STEPS} steps", ConvergenceWarning, stacklevel=2)
    return theta


def minimise_any(link: GeneralizedLinear, seen: Seen, prior: FloatArray, shift: FloatArray, theta: FloatArray) -> bool:
    """`kernels.newton.minimise`, for a link that kernels do not know."""
    delta = np.empty(theta.size)
    for _ in range(MOST_STEPS):
        u = np.einsum("ki,i->k", seen.rows, theta)
        means, slopes = np.asarray(link.mean(u), float), np.asarray(link.slope(u), float)
        length = newton_step(*seen, prior, shift, theta, means, slopes, delta)
        if not length < np.inf:
            return False
        theta += part_of(link, seen, u, delta, delta * (prior * theta - shift), delta * prior * delta, length) * delta
        if length <= TOLERANCE:
            return True
    return False


def part_of(
    link: GeneralizedLinear,
    seen: Seen,
    u: FloatArray,
    delta: FloatArray,
    at_first: FloatArray,
    curved: FloatArray,
    length: float,
) -> float:
    """`kernels.newton.part`: how much of a step is taken."""
    changes = np.einsum("ki,i->k", seen.rows, delta)
    low, high, share, steep = 0.0, 1.0, 1.0, length * length
    for _ in range(HALVINGS):
        means = np.asarray(link.mean(u + share * changes), float)
        slope = at_first.sum() + share * curved.sum() + float((changes * (seen.counts * means - seen.totals)).sum())
        share, low, high = narrowed(share, low, high, slope, steep)
        if low == high:
            break
    return share


def inverse_of(hessian: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix [d, d], also where rounding has left it indefinite."""
    inverse = invert(hessian)
    if inverse.size > 0:
        return inverse
    values, vectors, width = scaled_eigen(hessian)
    return np.asarray((vectors / values) @ vectors.T / width / width[:, None])


def root_of(hessian: FloatArray) -> FloatArray:
    """Return an R with R'R = hessian [d, d]: triangular, unless rounding has left the matrix indefinite."""
    root = triangle(hessian)
    if root.size > 0:
        return root
    values, vectors, width = scaled_eigen(hessian)
    return np.ascontiguousarray((vectors * np.sqrt(values)).T * width)


def scaled_eigen(hessian: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return eigenvalues, eigenvectors and the scales w of hessian / w w', whose diagonal is 1."""
    width = np.sqrt(np.diag(hessian))
    values, vectors = np.linalg.eigh(hessian / width / width[:, None])
    return np.maximum(values, LEAST_EIGENVALUE), vectors, width


class ExactFit(Streamed):
    """A stream fit that also counts, and whose `mean`, `gram` and `inverse` are those of the minimiser."""

    whole: ClassVar[bool] = False
    _centre: Centre | None = None

    def count_arms(self, arms: Arms) -> None:
        """Begin to count, by standing arm."""
        self.rows = np.zeros((0, arms.dim)) if arms.rows is None else arms.rows
        self.arm_counts = np.zeros(len(self.rows))
        self.arm_totals = np.zeros(len(self.rows))
        self.other_count = np.zeros(1)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.link.check_reward(y)
        if arm < 0 and self.history is None:
            raise InvalidArgument("arm", x, 'the number of a standing arm where no log is kept and fit="exact"')
        if self.rate > 0.0:
            self.arm_counts *= np.exp(-self.rate)
            self.arm_totals *= np.exp(-self.rate)
        if arm >= 0:
            self.arm_counts[arm] += 1.0
            self.arm_totals[arm] += y
        else:
            self.other_count[0] += 1.0
        super().learn(round, arm, x, y)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        counted = {"arm_counts": self.arm_counts, "arm_totals": self.arm_totals, "other_count": self.other_count}
        return {**super().arrays(), **counted}

    def fault(self) -> str | None:
        if self.other_count[0] > 0.0 and self.history is None:
            return 'observations that were no standing arm\'s, without its log, which fit="exact" looks at'
        return None

    def seen(self) -> Seen:
        """All observations, by standing arm if that is all."""
        if self.other_count[0] == 0.0 or self.history is None:
            return Seen(self.rows, self.arm_counts.copy(), self.arm_totals.copy())
        features, rewards = self.history()
        shares = np.exp(-self.rate * np.arange(len(rewards))[::-1])
        return Seen(features, shares, shares * rewards)

    @property
    def centre(self) -> Centre:
        """Kept until the state changes."""
        count = self.count
        if self._centre is None or self._centre.version != count:
            seen, prior = self.seen(), self.parts.prior
            theta = fitted(self.link, seen, prior, np.zeros(self.dim), self.parts.mean)
            slopes = np.asarray(self.link.slope(np.einsum("ki,i->k", seen.rows, theta)), float)
            hessian = curvature(seen.rows, seen.counts, slopes, prior)
            self._centre = Centre(count, seen, theta, hessian, inverse_of(hessian))
        return self._centre

    def minimiser(self, shift: FloatArray) -> FloatArray:
        """argmin of the loss perturbed by `shift` [d]: [d]."""
        centre = self.centre
        return fitted(self.link, centre.seen, self.parts.prior, shift, centre.theta + times(centre.inverse, shift))

    @property
    def mean(self) -> FloatArray:
        return self.centre.theta

    @property
    def gram(self) -> FloatArray:
        """The Hessian of the loss at the centre."""
        return self.centre.hessian

    @property
    def inverse(self) -> FloatArray:
        return self.centre.inverse


class ExactEnsemble(ExactFit, StreamEnsemble):
    """theta^j = argmin of the loss perturbed by S^j, which is that of the stream fit: s_i^2 = A'' where its centre was then."""

    def __init__(self, link: GeneralizedLinear, plan: EnsemblePlan, arms: Arms, address: Address) -> None:
        super().__init__(link, plan, arms, address)
        self.count_arms(arms)

    def theta(self, member: int) -> FloatArray:
        return self.minimiser(ensemble.total_of(self.state, self.sums, 1.0, member))

    def thetas(self) -> FloatArray:
        return np.ascontiguousarray(np.array([self.theta(member) for member in range(self.size)]).T)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        return best_for(self.theta(member), offer)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        if offer.rows is None:
            return np.zeros(0, np.int64), offer.promises(self.thetas().T)
        return greedy_arms(self.thetas(), offer)
