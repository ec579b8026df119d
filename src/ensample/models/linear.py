"""Rewards linear in the features: ridge regression, one observation at a time."""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Offer, Rows, blocks
from ensample.calibration import Calibration, Unknown
from ensample.checks import are_within, has_tiny, vector, whole
from ensample.models.base import Model
from ensample.models.ridge import (
    FREE_PRIOR,
    Ridge,
    Scales,
    first_prior,
    new_ridge,
    new_scales,
    ridge_views,
    scale_views,
)
from ensample.models.search import greedy_arm, greedy_arms
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.models.glm import GeneralizedLinear

VIEWS = "parts", "known", "learning"  # attributes that are views of `state` and `scales`
LINK_FEATURE, LINK_STATE = 1e6, 1e20
"""Beyond these, rounding of theta_hat comes back in the working responses of a link, and grows."""

ScaleLearning = tuple[FloatArray | None, float, bool, bool]
"""How the core learns the scales: `scales`, `strength`, `sizes_given`, `intercept`."""

FIXED_SCALES: ScaleLearning = None, 0.0, False, False


class ThetaModel(Model):
    """Members that expect x'theta^j of features x, or a link of that.

    With an intercept the last entry of theta^j is the member's own, the same for all arms, and
    relative to the first reward, `origin`: a number added to all rewards changes no choice.
    """

    dim: int  # of theta
    link: "GeneralizedLinear | None" = None
    origin: FloatArray | None = None  # the first reward, if there is an intercept [1]
    _drawn: tuple[int, int, FloatArray] | None = None  # round, count, theta

    @abstractmethod
    def theta(self, member: int) -> FloatArray:
        """Return what a member multiplies features by: [d]."""

    def thetas(self) -> FloatArray:
        """Return what every member multiplies features by: [d, m]."""
        rows = np.array([self.theta(member) for member in range(self.size or 1)])
        return np.ascontiguousarray(rows.T)

    def draw(self, round: int) -> FloatArray:
        """Return theta_t, where the model of each round is drawn: a function of (seed, round)."""
        raise NotImplementedError

    def drawn_theta(self, member: int) -> FloatArray:
        """Return `draw` of round number `member`, kept until the round or the state changes."""
        count, kept = self.count, self._drawn
        if kept is None or kept[0] != member or kept[1] != count:
            self._drawn = kept = member, count, self.draw(member)
        return kept[2]

    def in_known_units(self, offer: Offer) -> Offer:
        """Return the offer in the units in which members act."""
        return offer

    def in_rewards(self, thetas: FloatArray) -> FloatArray:
        """Return a copy of [d] or [d, m] whose intercepts are not relative to the origin."""
        thetas = thetas.copy()
        if self.origin is not None:
            thetas[-1] += self.origin[0]
        return thetas

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        theta = self.in_rewards(self.theta(member))
        if self.origin is not None:
            return np.asarray(rows @ theta[:-1] + theta[-1])
        predictors = rows @ theta
        return np.asarray(predictors if self.link is None else self.link.mean(predictors))

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        theta = self.theta(member)
        if self.origin is not None:
            theta = theta[:-1]
        arm, x = best_for(theta, self.in_known_units(offer))
        return (arm, x) if arm is None or offer.rows is None else (arm, offer.rows[arm])

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Return each member's greedy arm and what it promises, relative to the origin."""
        thetas = self.thetas()
        slopes = thetas if self.origin is None else thetas[:-1]
        if offer.rows is None:
            chosen, promises = np.zeros(0, np.int64), offer.promises(slopes.T)
        else:
            chosen, promises = greedy_arms(slopes, self.in_known_units(offer))
        return chosen, promises if self.origin is None else promises + thetas[-1]

    def estimates(self, round: int) -> FloatArray:
        thetas = self.theta(round)[:, None] if self.size is None else self.thetas()
        return np.ascontiguousarray(self.in_rewards(thetas).T)


class LinearModel(ThetaModel):
    """One member, theta_hat = V^-1 b, with V and b to twice the digits of a double.

    With a `link` it is the stream fit of a generalised linear model: V = prior + sum_i w_i x_i
    x_i', and theta_hat is the result of implicit steps (cpp/glm.hpp).
    """

    size: int | None = 1
    whole: ClassVar[bool] = True

    def __init__(
        self,
        dim: int,
        prior: float | Unknown,
        rate: float = 0.0,
        link: "GeneralizedLinear | None" = None,
        intercept: bool = False,
    ) -> None:
        """`dim` is that of the features, without the constant of an intercept.

        `prior` is lam, or what is to be learned of the scales. `rate`, at which the past fades, is
        log 2 / half-life (cpp/ridge_state.hpp).
        """
        self.dim = dim + intercept
        self.rate, self.link = rate, link
        self.link_code = None if link is None else link.code  # if the core knows the link
        if link is not None:
            self.ordinary_feature, self.ordinary_state = LINK_FEATURE, LINK_STATE
        if intercept:
            self.origin = np.zeros(1)
        self.unknown = prior if isinstance(prior, Unknown) else None
        first: float | FloatArray
        if isinstance(prior, Unknown):
            sizes = np.zeros(self.dim) if prior.sizes is None else prior.sizes
            self.scales = new_scales(sizes, prior.lam)
            first = first_prior(sizes, prior.lam, prior.intercept)
        else:
            first = np.append(np.full(dim, prior), FREE_PRIOR * prior) if intercept else prior
        self.state = new_ridge(self.dim, first, rate)  # the core changes it in place
        self.learns_sizes = self.unknown is not None and self.unknown.sizes is None
        self._make_views()

    def _make_views(self) -> None:
        self.parts: Ridge = ridge_views(self.state)
        self.learning: ScaleLearning = FIXED_SCALES
        unknown = self.unknown
        if unknown is not None:
            self.known: Scales = scale_views(self.scales)
            sizes_given = unknown.sizes is not None
            self.learning = self.scales, unknown.lam, sizes_given, unknown.intercept

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in VIEWS}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._make_views()

    @property
    def count(self) -> int:
        return int(self.parts.seen[0])

    @property
    def mean(self) -> FloatArray:
        mean = self.parts.mean
        return mean if self.origin is None else self.in_rewards(mean)

    @property
    def gram(self) -> FloatArray:
        return self.parts.gram

    @property
    def inverse(self) -> FloatArray:
        return self.parts.inverse

    @property
    def information(self) -> float:
        """log(det V / lam^d); of V and its prior, if that is learned."""
        return float(self.parts.information[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, if it is learned: 1 at first."""
        return math.sqrt(self.known.noise[0]) or 1.0

    @property
    def calibration(self) -> Calibration | None:
        if self.unknown is None:
            return None
        known = self.known
        tau, lam = math.sqrt(known.spread[0]) or 1.0, float(known.strength[0])
        effective, count = float(known.effective[0]), int(known.calibrated_at[0])
        return Calibration(self.sigma, tau, lam, effective, count, known.sizes.copy())

    def lacks_sizes(self) -> bool:
        """Return True if sizes of features are learned and some were never seen."""
        # `all()` takes four times as long
        return self.learns_sizes and int(np.count_nonzero(self.known.sizes)) < self.dim

    def in_known_units(self, offer: Offer) -> Offer:
        """Return the offer, with features that were never played in units of its own."""
        if not self.learns_sizes or offer.rows is None or not self.lacks_sizes():
            return offer
        known, here = self.known.sizes[: offer.dim], np.sqrt(np.square(offer.rows).mean(axis=0))
        keep = (known > 0.0) | (here == 0.0)
        return Rows(np.where(keep, offer.rows, offer.rows / np.where(here > 0.0, here, 1.0)))

    def theta(self, member: int) -> FloatArray:
        return self.parts.mean

    def is_bounded(self) -> bool:
        """Return True, but for a link of the user's own, whose rewards or slopes may overflow."""
        return self.link is None or self.link.code is not None

    def is_ordinary(self, x: FloatArray) -> bool:
        """Return False also for features so small that scales learned from them would overflow."""
        most = self.ordinary_feature
        at_once = x.ndim == 1 and x.dot(x) <= most  # the usual case takes half as long
        if not at_once and not are_within(x, most):
            return False
        safe = self.unknown is None or (self.learns_sizes and not self.lacks_sizes())
        return safe or not any(map(has_tiny, blocks(x)))

    def fault(self) -> str | None:
        if not (self.parts.prior > 0.0).all():
            return "a prior that is not positive"
        if self.unknown is not None and (self.scales < 0.0).any():
            return "scales below 0"
        return None

    def response(self, x: FloatArray, y: float) -> tuple[FloatArray, float]:
        """Return the features and the reward that the core learns in place of x and y.

        A link of the user's own has sqrt(w) x and its working response computed here.
        """
        if self.link is None:
            return x, y
        self.link.check_reward(y)
        return (x, y) if self.link.code is not None else self.link.respond(self.state, x, y)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        x, y = self.response(x, y)
        _core.learn_ridge(self.state, x, y, self.learning, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        arrays: dict[str, NDArray[np.generic]] = {"ridge": self.state}
        if self.unknown is not None:
            arrays["scales"] = self.scales
        return arrays if self.origin is None else arrays | {"origin": self.origin}


class DrawnModel(LinearModel):
    """A linear model whose theta_t is drawn for each round: `draw`, a function of (seed, round)."""

    size = None

    theta = ThetaModel.drawn_theta


def best_for(theta: FloatArray, offer: Offer) -> tuple[int | None, FloatArray]:
    """Return argmax_x x'theta among the arms on offer, which may be the user's own."""
    if offer.rows is not None:
        arm = greedy_arm(theta, offer)
        return arm, offer.rows[arm]
    number, x = offer.best(theta)
    x = vector("best(theta)", x, theta.size)
    x.setflags(write=False)
    return number if number is None else whole("best(theta)", number, 0), x
