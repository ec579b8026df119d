"""Generalised linear models by the exact fit: minimisers of perturbed losses, by Newton's method.

They are computed when they are asked for. The centre starts where the stream fit is, another
minimiser at theta_hat + H^-1 shift: both are functions of the state, so that deciding is one too.
On standing arms losses are sums over arms, O(K d^2) a step. Observations of other features are
taken from the log, which then must be kept: O(n d^2) a step.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms
from ensample.errors import ConvergenceWarning, InvalidArgument
from ensample.models.base import fault_of_counts
from ensample.models.ensemble import LinearEnsemble
from ensample.models.glm import GeneralizedLinear
from ensample.models.linear import LinearModel, ThetaModel
from ensample.models.ridge import Ridge
from ensample.types import FloatArray

TOLERANCE = 1e-10  # of the last step of Newton's method, in the norm of the Hessian
MAX_STEPS, MAX_HALVINGS = 100, 50
MAX_SLOPE, MIN_SLOPE = 0.1, -0.5  # of F at the end of an accepted step, over that at its start
LEAST_EIGENVALUE = 1e-15  # of a Hessian scaled to a unit diagonal: less is rounding


class Seen(NamedTuple):
    """Rewards by rows of features."""

    rows: FloatArray  # [n, d]
    counts: FloatArray  # how often each was seen, or what that counts for where the past fades [n]
    totals: FloatArray  # the sums of its rewards [n]


class PerturbedLoss(NamedTuple):
    """sum_i [A(x_i'theta) - y_i x_i'theta] + theta' diag(prior) theta / 2 - theta'shift."""

    link: GeneralizedLinear
    seen: Seen
    prior: FloatArray  # [d]
    shift: FloatArray  # [d]


class Centre(NamedTuple):
    """The minimiser of the loss that is not perturbed."""

    version: int  # the number of observations in it
    seen: Seen
    theta: FloatArray  # [d]
    hessian: FloatArray  # [d, d]
    inverse: FloatArray  # of the Hessian [d, d]


def minimiser(loss: PerturbedLoss, start: FloatArray) -> FloatArray:
    """Return argmin_theta of a loss: [d]. One that has not converged warns."""
    theta = start.copy()
    if not minimise(loss, theta):
        words = f"{loss.link!r}: not converged to {TOLERANCE:g} in {MAX_STEPS} steps"
        warnings.warn(words, ConvergenceWarning, stacklevel=2)
    return theta


def minimise(loss: PerturbedLoss, theta: FloatArray) -> bool:
    """Move theta to the minimum and return True, or return False where it does not converge.

    The core does it for the links that it knows (cpp/newton.hpp).
    """
    link, seen, prior, shift = loss
    if link.code is not None:
        return _core.minimise(link.code, *seen, prior, shift, TOLERANCE, theta)
    step = np.empty(theta.size)
    for _ in range(MAX_STEPS):
        u = np.einsum("ki,i->k", seen.rows, theta)
        means, slopes = np.asarray(link.mean(u), float), np.asarray(link.slope(u), float)
        length = _core.newton_step(*seen, prior, shift, theta, means, slopes, step)
        if not length < np.inf:
            return False
        theta += share_of_step(loss, theta, u, step, length) * step
        if length <= TOLERANCE:
            return True
    return False


def share_of_step(
    loss: PerturbedLoss, theta: FloatArray, u: FloatArray, step: FloatArray, length: float
) -> float:
    """Return how much of a step is taken: 1, or less where the loss would climb at its end."""
    link, seen, prior, shift = loss
    changes = np.einsum("ki,i->k", seen.rows, step)
    at_start, curved = (step * (prior * theta - shift)).sum(), (step * prior * step).sum()
    low, high, share, descent = 0.0, 1.0, 1.0, length * length
    for _ in range(MAX_HALVINGS):
        means = np.asarray(link.mean(u + share * changes), float)
        of_rewards = float((changes * (seen.counts * means - seen.totals)).sum())
        slope = at_start + share * curved + of_rewards
        if slope > MAX_SLOPE * descent:
            high = share
        elif share == 1.0 or slope >= MIN_SLOPE * descent:
            return share
        else:
            low = share
        share = 0.5 * (low + high)
    return share


def inverse_of(hessian: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix, also if rounding has left it indefinite."""
    inverse = _core.invert(hessian)
    if inverse is not None:
        return inverse
    values, vectors, width = scaled_eigen(hessian)
    return np.asarray((vectors / values) @ vectors.T / width / width[:, None])


def root_of(hessian: FloatArray) -> FloatArray:
    """Return an R with R'R = hessian [d, d]: triangular, unless rounding has left it indefinite."""
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


class ExactModel(ThetaModel):
    """A stream fit, and the counts from which its minimiser is computed: one member, the centre."""

    link: GeneralizedLinear

    def __init__(self, stream: LinearModel, arms: Arms) -> None:
        assert stream.link is not None
        self.stream, self.link, self.dim = stream, stream.link, stream.dim
        self.ordinary_feature, self.ordinary_state = stream.ordinary_feature, stream.ordinary_state
        self.rows = np.zeros((0, arms.dim)) if arms.rows is None else arms.rows
        self.arm_counts = np.zeros(len(self.rows))
        self.arm_totals = np.zeros(len(self.rows))
        self.other_count = np.zeros(1)
        self._centre: Centre | None = None

    @property
    def parts(self) -> Ridge:
        """The state of the stream fit."""
        return self.stream.parts

    @property
    def count(self) -> int:
        return self.stream.count

    def is_bounded(self) -> bool:
        return self.stream.is_bounded()

    def is_ordinary(self, x: FloatArray) -> bool:
        return self.stream.is_ordinary(x)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.link.check_reward(y)
        if arm < 0 and self.history is None:
            expected = 'the number of a standing arm where no log is kept and fit="exact"'
            raise InvalidArgument("arm", x, expected)
        if self.stream.rate > 0.0:
            kept = float(exp(np.array([-self.stream.rate]))[0])
            self.arm_counts *= kept
            self.arm_totals *= kept
        if arm >= 0:
            self.arm_counts[arm] += 1.0
            self.arm_totals[arm] += y
        else:
            self.other_count[0] += 1.0
        self.stream.learn(round, arm, x, y)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        counts = {"arm_counts": self.arm_counts, "arm_totals": self.arm_totals}
        return {**self.stream.arrays(), **counts, "other_count": self.other_count}

    def fault(self) -> str | None:
        if self.other_count[0] > 0.0 and self.history is None:
            needed = 'without its log, which fit="exact" looks at'
            return f"observations that were no standing arm's, {needed}"
        return self.stream.fault() or fault_of_counts(self.arm_counts, self.count)

    def seen(self) -> Seen:
        """Return all observations, by standing arm if that is all."""
        if self.other_count[0] == 0.0 or self.history is None:
            return Seen(self.rows, self.arm_counts.copy(), self.arm_totals.copy())
        features, rewards = self.history()
        shares = exp(-self.stream.rate * np.arange(float(len(rewards)))[::-1])
        return Seen(features, shares, shares * rewards)

    @property
    def centre(self) -> Centre:
        """The minimiser, kept until the state changes."""
        count = self.count
        if self._centre is None or self._centre.version != count:
            seen, prior = self.seen(), self.parts.prior
            loss = PerturbedLoss(self.link, seen, prior, np.zeros(self.dim))
            theta = minimiser(loss, self.parts.mean)
            slopes = np.asarray(self.link.slope(np.einsum("ki,i->k", seen.rows, theta)), float)
            hessian = _core.hessian(seen.rows, seen.counts, slopes, prior)
            self._centre = Centre(count, seen, theta, hessian, inverse_of(hessian))
        return self._centre

    def minimiser(self, shift: FloatArray) -> FloatArray:
        """Return argmin of the loss perturbed by `shift` [d]: [d]."""
        centre = self.centre
        start = centre.theta + _core.multiply(centre.inverse, shift)
        return minimiser(PerturbedLoss(self.link, centre.seen, self.parts.prior, shift), start)

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

    def theta(self, member: int) -> FloatArray:
        return self.mean


class ExactEnsemble(ExactModel):
    """theta^j = argmin of the loss perturbed by S^j of the stream fit."""

    stream: LinearEnsemble

    def __init__(self, stream: LinearEnsemble, arms: Arms) -> None:
        super().__init__(stream, arms)
        self.size = stream.size

    def theta(self, member: int) -> FloatArray:
        sums, d = self.stream.sums, self.dim
        return self.minimiser(sums[:d, member] + sums[d : 2 * d, member])
