"""Generalised linear rewards: E[Y | x] = A'(x'theta) with A convex, a canonical link."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensample import _core
from ensample.arms import Arms, Box
from ensample.calibration import AUTO
from ensample.errors import InvalidArgument
from ensample.models.description import EnsemblePlan, RewardModel
from ensample.models.model import Model
from ensample.randomness import Address
from ensample.types import Auto, FloatArray

FITS = ("stream", "exact")
SHARE = 0.25  # of the arms' mean squared norm: "auto" regularization
MIN_WEIGHT = 1e-16  # of an observation: less would only make its working response large
MAX_STEPS = 100
LAST = 1e-9  # a step of Newton's method that is as short as this leaves an error of its square


@dataclass(frozen=True)
class GeneralizedLinear(RewardModel):
    """What is common to canonical links. One of your own defines `mean` and `slope`, and `low` and `high` if rewards have
    bounds.

    Member j minimises sum_i [A(x_i'theta) - y_i x_i'theta] + lam/2 |theta|^2 - theta'(W^j + sum_i x_i s_i Z_i^j): the loss,
    perturbed linearly, with s_i^2 = A''(x_i'theta), the variance of the reward under the centre. With A(u) = u^2/2 that is
    Algorithm 1 of Lee & Oh.
    """

    fit: str = "stream"

    model_family: ClassVar[str] = "logistic"
    ageing: ClassVar[float] = 0.03  # less than of linear models: docs/studies/long-run.md
    learns_noise: ClassVar[bool] = False
    low: ClassVar[float] = -math.inf  # rewards are at least this
    high: ClassVar[float] = math.inf
    spread: ClassVar[float] = (
        1.0  # the largest standard deviation of a reward, or what stands for it
    )
    code: ClassVar[int | None] = (
        None  # of the link in the core (cpp/glm.hpp); None if it does not know the link
    )

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise InvalidArgument("fit", self.fit, f"one of {', '.join(map(repr, FITS))}")

    @abstractmethod
    def mean(self, u: Any) -> Any:
        """A'(u), the mean of a reward with linear predictor u; of an array, of each entry."""

    @abstractmethod
    def slope(self, u: Any) -> Any:
        """A''(u) >= 0, the variance; of an array, of each entry."""

    def surplus(self, u: Any, y: Any) -> Any:
        """A'(u) - y."""
        return self.mean(u) - y

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.low, self.high

    def why_not_fresh(self) -> str:
        return (
            ""
            if self.fit == "stream"
            else f"members of {self!r} are minimisers of perturbed losses"
        )

    def member_numbers(self, dim: int) -> int:
        return 2 * dim

    def check(self, plan: EnsemblePlan) -> None:
        if plan.intercept:
            raise InvalidArgument(
                "intercept", True, f"False with {self!r}: a feature that is always 1 does it"
            )

    def needs_log(self, arms: Arms) -> bool:
        return self.fit == "exact" and arms.rows is None

    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> Model:
        from ensample.models.exact import ExactEnsemble  # which is made of what is here
        from ensample.models.fresh import FreshStream
        from ensample.models.streamed import StreamEnsemble

        if plan.draws_fresh:
            return FreshStream(self, plan, arms, address)
        return (StreamEnsemble if self.fit == "stream" else ExactEnsemble)(
            self, plan, arms, address
        )

    def check_reward(self, y: float) -> None:
        """Raise on a reward that the model cannot give."""
        if not self.low <= y <= self.high:
            raise InvalidArgument("reward", y, self.rewards_expected)

    def strength(self, regularization: float | Auto, arms: Arms) -> float:
        """lam, or a quarter of the mean squared norm of the arms where it is "auto".

        So a typical arm's linear predictor has standard deviation 2 before anything is seen, whatever the unit of the features;
        1/2 where the arms are not known, which goes with features of norm 1.4.
        """
        return SHARE * mean_square(arms) if regularization == AUTO else regularization

    def respond(self, state: FloatArray, x: FloatArray, y: float) -> tuple[FloatArray, float]:
        """Return (sqrt(w) x, r): features and reward for ridge regression (cpp/glm.hpp)."""
        v = self.implicit(*_core.predict(state, x), y)
        root = math.sqrt(max(float(self.slope(v)), MIN_WEIGHT))
        return root * x, root * v - float(self.surplus(v, y)) / root

    def implicit(self, u: float, q: float, y: float) -> float:
        """Return the root v of v = u - q (mu(v) - y), as `_core.implicit_step` does, by Newton's method."""
        v, end = u, u - q * float(self.surplus(u, y))
        low, high = min(u, end), max(u, end)
        for _ in range(MAX_STEPS):
            excess = v - u + q * float(self.surplus(v, y))
            low, high = (low, v) if excess > 0.0 else (v, high)
            following = v - excess / (1.0 + q * float(self.slope(v)))
            if abs(following - v) <= LAST * max(1.0, abs(v)):
                return following
            v = following if low < following < high else 0.5 * (low + high)
        return v


def mean_square(arms: Arms) -> float:
    """The mean squared norm of the arms; 2 where they are not known."""
    if arms.rows is not None:
        square = float(np.square(arms.rows).sum(axis=1).mean())
    elif isinstance(arms, Box):  # of its corners
        square = float(np.square([arms.low, arms.high]).sum()) / 2.0
    else:
        square = 2.0 if arms.largest_norm is None else arms.largest_norm**2
    return square if square > 0.0 else 2.0
