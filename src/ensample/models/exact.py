"""Generalised linear models by the exact fit: minimisers of perturbed losses, by Newton's method to 1e-10.

They are computed when they are asked for. The centre starts where the stream fit is, another minimiser at theta_hat + H^-1
shift: both are functions of the state, so that deciding is one too. On standing arms losses are sums over arms, O(K d^2) a
step. Observations of other features are taken from the log, which then must be kept: O(n d^2) a step.
"""

import warnings
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.errors import ConvergenceWarning, InvalidArgument
from ensample.models.description import EnsemblePlan
from ensample.models.generalized import GeneralizedLinear
from ensample.models.linear import best_for
from ensample.models.model import fault_of_counts
from ensample.models.search import greedy_arms
from ensample.models.streamed import Streamed, StreamEnsemble
from ensample.randomness import Address
from ensample.types import FloatArray, IntArray

TOLERANCE = 1e-10  # of the last step of Newton's method, in the norm of the Hessian
MAX_STEPS, MAX_HALVINGS = 100, 50
MAX_SLOPE, MIN_SLOPE = (
    0.1,
    -0.5,
)  # of F at the end of an accepted step, over its descent at the start
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


def fitted(
    link: GeneralizedLinear, seen: Seen, prior: FloatArray, shift: FloatArray, start: FloatArray
) -> FloatArray:
    """argmin_theta of the loss perturbed by `shift`: [d]. One that has not converged says so."""
    theta = start.copy()
    if link.code is None:
        converged = minimise(link, seen, prior, shift, theta)
    else:
        converged = _core.minimise(link.code, *seen, prior, shift, TOLERANCE, theta)
    if not converged:
        warnings.warn(
            f"{link!r}: not converged to {TOLERANCE:g} in {MAX_STEPS} steps",
            ConvergenceWarning,
            stacklevel=2,
        )
    return theta


def minimise(
    link: GeneralizedLinear, seen: Seen, prior: FloatArray, shift: FloatArray, theta: FloatArray
) -> bool:
    """Minimise as `_core.minimise` does (cpp/newton.hpp), for a link that the core does not know."""
    step = np.empty(theta.size)
    for _ in range(MAX_STEPS):
        u = np.einsum("ki,i->k", seen.rows, theta)
        means, slopes = np.asarray(link.mean(u), float), np.asarray(link.slope(u), float)
        length = _core.newton_step(*seen, prior, shift, theta, means, slopes, step)
        if not length < np.inf:
            return False
        theta += share_of_step(link, seen, prior, shift, theta, u, step, length) * step
        if length <= TOLERANCE:
            return True
    return False


def share_of_step(
    link: GeneralizedLinear,
    seen: Seen,
    prior: FloatArray,
    shift: FloatArray,
    theta: FloatArray,
    u: FloatArray,
    step: FloatArray,
    length: float,
) -> float:
    """Return how much of a step is taken: 1, or less where the loss would climb at its end."""
    changes = np.einsum("ki,i->k", seen.rows, step)
    at_start, curved = (step * (prior * theta - shift)).sum(), (step * prior * step).sum()
    low, high, share, descent = 0.0, 1.0, 1.0, length * length
    for _ in range(MAX_HALVINGS):
        means = np.asarray(link.mean(u + share * changes), float)
        slope = (
            at_start + share * curved + float((changes * (seen.counts * means - seen.totals)).sum())
        )
        if slope > MAX_SLOPE * descent:
            high = share
        elif share == 1.0 or slope >= MIN_SLOPE * descent:
            return share
        else:
            low = share
        share = 0.5 * (low + high)
    return share


def inverse_of(hessian: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix [d, d], also where rounding has left it indefinite."""
    inverse = _core.invert(hessian)
    if inverse is not None:
        return inverse
    values, vectors, width = scaled_eigen(hessian)
    return np.asarray((vectors / values) @ vectors.T / width / width[:, None])


def root_of(hessian: FloatArray) -> FloatArray:
    """Return an R with R'R = hessian [d, d]: triangular, unless rounding has left the matrix indefinite."""
    root = _core.cholesky(hessian)
    if root is not None:
        return root
    values, vectors, width = scaled_eigen(hessian)
    return np.ascontiguousarray((vectors * np.sqrt(values)).T * width)


def scaled_eigen(hessian: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return eigenvalues, eigenvectors and the scales w of hessian / w w', whose diagonal is 1."""
    width = np.sqrt(np.diag(hessian))
    values, vectors = np.linalg.eigh(hessian / width / width[:, None])
    return np.maximum(values, LEAST_EIGENVALUE), vectors, width


def exp(values: FloatArray) -> FloatArray:
    """Return exp with the same bits on every machine, unlike NumPy's."""
    out = np.empty(values.size)
    _core.evaluate("exp", np.ascontiguousarray(values), out)
    return out


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
            raise InvalidArgument(
                "arm", x, 'the number of a standing arm where no log is kept and fit="exact"'
            )
        if self.rate > 0.0:
            kept = float(exp(np.array([-self.rate]))[0])
            self.arm_counts *= kept
            self.arm_totals *= kept
        if arm >= 0:
            self.arm_counts[arm] += 1.0
            self.arm_totals[arm] += y
        else:
            self.other_count[0] += 1.0
        super().learn(round, arm, x, y)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        counted = {
            "arm_counts": self.arm_counts,
            "arm_totals": self.arm_totals,
            "other_count": self.other_count,
        }
        return {**super().arrays(), **counted}

    def fault(self) -> str | None:
        if self.other_count[0] > 0.0 and self.history is None:
            return 'observations that were no standing arm\'s, without its log, which fit="exact" looks at'
        return super().fault() or fault_of_counts(self.arm_counts, self.count)

    def seen(self) -> Seen:
        """All observations, by standing arm if that is all."""
        if self.other_count[0] == 0.0 or self.history is None:
            return Seen(self.rows, self.arm_counts.copy(), self.arm_totals.copy())
        features, rewards = self.history()
        shares = exp(-self.rate * np.arange(float(len(rewards)))[::-1])
        return Seen(features, shares, shares * rewards)

    @property
    def centre(self) -> Centre:
        """Kept until the state changes."""
        count = self.count
        if self._centre is None or self._centre.version != count:
            seen, prior = self.seen(), self.parts.prior
            theta = fitted(self.link, seen, prior, np.zeros(self.dim), self.parts.mean)
            slopes = np.asarray(self.link.slope(np.einsum("ki,i->k", seen.rows, theta)), float)
            hessian = _core.hessian(seen.rows, seen.counts, slopes, prior)
            self._centre = Centre(count, seen, theta, hessian, inverse_of(hessian))
        return self._centre

    def minimiser(self, shift: FloatArray) -> FloatArray:
        """argmin of the loss perturbed by `shift` [d]: [d]."""
        centre = self.centre
        return fitted(
            self.link,
            centre.seen,
            self.parts.prior,
            shift,
            centre.theta + _core.multiply(centre.inverse, shift),
        )

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

    def __init__(
        self, link: GeneralizedLinear, plan: EnsemblePlan, arms: Arms, address: Address
    ) -> None:
        super().__init__(link, plan, arms, address)
        self.count_arms(arms)

    def theta(self, member: int) -> FloatArray:
        older, newer = self.sums[: self.dim, member], self.sums[self.dim : 2 * self.dim, member]
        return self.minimiser(older + newer)

    def thetas(self) -> FloatArray:
        return np.ascontiguousarray(np.array([self.theta(member) for member in range(self.size)]).T)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        return best_for(self.theta(member), offer)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        if offer.rows is None:
            return np.zeros(0, np.int64), offer.promises(self.thetas().T)
        return greedy_arms(self.thetas(), offer)
