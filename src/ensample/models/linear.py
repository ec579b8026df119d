"""Rewards linear in the features: ridge regression, one observation at a time."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Offer, Rows, blocks
from ensample.calibration import Calibration, Unknown
from ensample.checks import are_within, has_tiny, vector, whole
from ensample.models.model import Model
from ensample.models.ridge import (
    Ridge,
    Scales,
    first_prior,
    new_ridge,
    new_scales,
    ridge_views,
    scale_views,
)
from ensample.models.search import greedy_arm
from ensample.types import FloatArray, IntArray

VIEWS = "parts", "known", "learning"  # attributes that are views of `state` and `scales`

ScaleLearning = tuple[FloatArray | None, float, bool, bool]
"""How the core learns the scales: `scales`, `strength`, `sizes_given`, `intercept`."""

FIXED_SCALES: ScaleLearning = None, 0.0, False, False


class LinearModel(Model):
    """One member, theta_hat = V^-1 b, with V and b to twice the digits of a double."""

    size: int | None = 1
    whole: ClassVar[bool] = True
    origin: FloatArray | None = None  # the first reward, where there is an intercept [1]
    link_code: int | None = None  # of a generalised linear model whose link the core knows
    weighted: ClassVar[bool] = False
    """Whether V and b are sums over observations that have weights: not those of the log as it is."""

    def __init__(self, dim: int, prior: float | FloatArray | Unknown, rate: float = 0.0) -> None:
        """`prior` is V before the first observation: lam, or its diagonal [d]; or what is to be learned of the scales.

        `rate`: at which the past fades, log 2 / half-life (cpp/ridge_state.hpp).
        """
        self.dim = dim
        self.rate = rate
        self.unknown = prior if isinstance(prior, Unknown) else None
        if isinstance(prior, Unknown):
            sizes = np.zeros(dim) if prior.sizes is None else prior.sizes
            self.scales = new_scales(sizes, prior.lam)
            prior = first_prior(sizes, prior.lam, prior.intercept)
        self.given = prior  # V before the first observation
        self.state = new_ridge(dim, prior, rate)  # the core changes it in place
        self._make_views()

    def _make_views(self) -> None:
        self.parts: Ridge = ridge_views(self.state)
        self.learning: ScaleLearning = FIXED_SCALES
        if self.unknown is not None:
            self.known: Scales = scale_views(self.scales)
            self.learning = (
                self.scales,
                self.unknown.lam,
                self.unknown.sizes is not None,
                self.unknown.intercept,
            )

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name not in VIEWS
        }  # copies would not be views

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._make_views()

    @property
    def count(self) -> int:
        return int(self.parts.seen[0])

    @property
    def mean(self) -> FloatArray:
        return self.parts.mean

    @property
    def gram(self) -> FloatArray:
        return self.parts.gram

    @property
    def inverse(self) -> FloatArray:
        return self.parts.inverse

    @property
    def information(self) -> float:
        """log(det V / lam^d); of V and its prior, where that is learned."""
        return float(self.parts.information[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, where it is learned: 1 before the first reward that is not 0."""
        return math.sqrt(self.known.noise[0]) or 1.0

    @property
    def calibration(self) -> Calibration | None:
        if self.unknown is None:
            return None
        known = self.known
        effective, count = float(known.effective[0]), int(known.calibrated_at[0])
        return Calibration(
            self.sigma,
            math.sqrt(known.spread[0]) or 1.0,
            float(known.strength[0]),
            effective,
            count,
            known.sizes.copy(),
        )

    def _lacks_sizes(self, unknown: Unknown) -> bool:
        """Return True if sizes of features are learned and some were never seen."""
        return (
            unknown.sizes is None and int(np.count_nonzero(self.known.sizes)) < self.dim
        )  # `all()` takes four times as long

    def in_known_units(self, offer: Offer) -> Offer:
        """The offer, with features that were never played in units of its own: of others the units are known."""
        if self.unknown is None or offer.rows is None or not self._lacks_sizes(self.unknown):
            return offer
        known, here = self.known.sizes[: offer.dim], np.sqrt(np.square(offer.rows).mean(axis=0))
        return Rows(
            np.where(
                (known > 0.0) | (here == 0.0),
                offer.rows,
                offer.rows / np.where(here > 0.0, here, 1.0),
            )
        )

    def theta(self, member: int) -> FloatArray:
        """What a member multiplies features by: [d]."""
        return self.mean

    def thetas(self) -> FloatArray:
        """Return what every member multiplies features by: [d, m]."""
        return np.ascontiguousarray(self.theta(0)[:, None])

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        return rows @ self.theta(member)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm, x = best_for(self.theta(member), self.in_known_units(offer))
        return (arm, x) if arm is None or offer.rows is None else (arm, offer.rows[arm])

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        arm, x = self.best(0, offer)
        return np.array([arm], np.int64), np.array([x @ self.theta(0)])

    def estimates(self, round: int) -> FloatArray:
        return self.theta(round)[None].copy()

    def is_bounded(self) -> bool:
        return True

    def is_ordinary(self, x: FloatArray) -> bool:
        """Return False also for features so small that scales learned from them would overflow."""
        most = self.ordinary_feature
        if not (x.ndim == 1 and x.dot(x) <= most) and not are_within(
            x, most
        ):  # the usual case takes half as long
            return False
        unknown = self.unknown
        learned = unknown is not None and unknown.sizes is None and not self._lacks_sizes(unknown)
        return unknown is None or learned or not any(map(has_tiny, blocks(x)))

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        _core.learn_ridge(self.state, x, y, self.learning, self.link_code)

    def fault(self) -> str | None:
        if not (self.parts.prior > 0.0).all():
            return "a prior that is not positive"
        if self.unknown is not None and (self.scales < 0.0).any():
            return "scales below 0"
        return None

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return (
            {"ridge": self.state}
            if self.unknown is None
            else {"ridge": self.state, "scales": self.scales}
        )


def best_for(theta: FloatArray, offer: Offer) -> tuple[int | None, FloatArray]:
    """argmax_x x'theta among the arms on offer, which may be the user's own."""
    if offer.rows is not None:
        arm = greedy_arm(theta, offer)
        return arm, offer.rows[arm]
    number, x = offer.best(theta)
    x = vector("best(theta)", x, theta.size)
    x.setflags(write=False)
    return number if number is None else whole("best(theta)", number, 0), x
