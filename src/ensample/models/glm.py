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
from ensample.models.base import EnsemblePlan, Model, RewardModel
from ensample.models.ensemble import FreshEnsemble, LinearEnsemble
from ensample.randomness import Address
from ensample.types import Auto, FloatArray

FITS = ("stream", "exact")
EXACT = "exact"
LOGISTIC_LINK = 1  # `Link` in cpp/views.hpp
SHARE = 0.25  # of the arms' mean squared norm: "auto" regularization
MIN_WEIGHT = 1e-16  # of an observation: less would only make its working response large
MAX_STEPS = 100
LAST = 1e-9  # a step of Newton's method that is as short as this leaves an error of its square


@dataclass(frozen=True)
class GeneralizedLinear(RewardModel):
    """A canonical link. One of your own defines `mean` and `slope`, and perhaps `low` and `high`.

    Member j minimises sum_i [A(x_i'theta) - y_i x_i'theta] + lam/2 |theta|^2
    - theta'(W^j + sum_i x_i s_i Z_i^j): the loss, perturbed linearly, with s_i^2 = A''(x_i'theta),
    the variance of the reward under the centre. With A(u) = u^2/2 that is Algorithm 1 of Lee & Oh.
    """

    fit: str = "stream"

    model_family: ClassVar[str] = "logistic"
    ageing: ClassVar[float] = 0.03  # less than of linear models: docs/studies/long-run.md
    learns_noise: ClassVar[bool] = False
    low: ClassVar[float] = -math.inf  # rewards are at least this
    high: ClassVar[float] = math.inf
    spread: ClassVar[float] = 1.0  # the largest standard deviation of a reward, or a stand-in
    code: ClassVar[int | None] = None  # of the link in the core (cpp/glm.hpp), if it knows it

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise InvalidArgument("fit", self.fit, f"one of {', '.join(map(repr, FITS))}")

    @abstractmethod
    def mean(self, u: Any) -> Any:
        """Return A'(u), the mean of a reward with linear predictor u, entry by entry."""

    @abstractmethod
    def slope(self, u: Any) -> Any:
        """Return A''(u) >= 0, the variance; of an array, of each entry."""

    def surplus(self, u: Any, y: Any) -> Any:
        """Return A'(u) - y."""
        return self.mean(u) - y

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.low, self.high

    def why_not_fresh(self) -> str:
        if self.fit == EXACT:
            return f"members of {self!r} are minimisers of perturbed losses"
        return ""

    def member_numbers(self, dim: int) -> int:
        return 2 * dim

    def check(self, plan: EnsemblePlan) -> None:
        if plan.intercept:
            expected = f"False with {self!r}: a feature that is always 1 does it"
            raise InvalidArgument("intercept", True, expected)

    def needs_log(self, arms: Arms) -> bool:
        return self.fit == EXACT and arms.rows is None

    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> Model:
        given = plan, arms.dim, plan.prior(arms), address, self
        if plan.draws_fresh:
            return FreshEnsemble(*given)
        stream = LinearEnsemble(*given)
        if self.fit != EXACT:
            return stream
        from ensample.models.exact import ExactEnsemble  # which is made of what is here

        return ExactEnsemble(stream, arms)

    def check_reward(self, y: float) -> None:
        """Raise on a reward that the model cannot give."""
        if not self.low <= y <= self.high:
            raise InvalidArgument("reward", y, self.rewards_expected)

    def strength(self, regularization: float | Auto, arms: Arms) -> float:
        """Return lam, or a quarter of the mean squared norm of the arms for "auto".

        So a typical arm's linear predictor has standard deviation 2 before anything is seen,
        whatever the unit of the features; 1/2 where the arms are not known, which goes with
        features of norm 1.4.
        """
        return SHARE * mean_square(arms) if regularization == AUTO else regularization

    def respond(self, state: FloatArray, x: FloatArray, y: float) -> tuple[FloatArray, float]:
        """Return (sqrt(w) x, r): features and reward for ridge regression (cpp/glm.hpp)."""
        v = self.implicit(*_core.predict(state, x), y)
        root = math.sqrt(max(float(self.slope(v)), MIN_WEIGHT))
        return root * x, root * v - float(self.surplus(v, y)) / root

    def implicit(self, u: float, q: float, y: float) -> float:
        """Return the root v of v = u - q (mu(v) - y), by Newton's method."""
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
    """Return the mean squared norm of the arms; 2 if they are not known."""
    if arms.rows is not None:
        square = float(np.square(arms.rows).sum(axis=1).mean())
    elif isinstance(arms, Box):  # of its corners
        square = float(np.square([arms.low, arms.high]).sum()) / 2.0
    else:
        square = 2.0 if arms.largest_norm is None else arms.largest_norm**2
    return square if square > 0.0 else 2.0


def logistic_mean(u: float) -> float:
    """Return 1 / (1 + exp(-u)), with the same bits on every machine."""
    return float(_core.link_means(LOGISTIC_LINK, np.array([u]))[0])


@dataclass(frozen=True)
class Logistic(GeneralizedLinear):
    """P(Y = 1 | x) = 1 / (1 + exp(-x'theta)), for clicks and for any reward in [0, 1].

    Member j minimises sum_i [log(1 + exp(x_i'theta)) - y_i x_i'theta] + lam/2 |theta|^2 - theta'S^j
    with S^j = W^j + sum_i x_i s_i Z_i^j, W ~ N(0, scale^2 lam I), Z ~ N(0, scale^2): the loss,
    perturbed linearly. s_i^2 is the variance of the reward under the centre.

    `fit="stream"`: O(d^2 + m d) a round, and no history is kept. The centre moves by one implicit
    step (cpp/glm.hpp), its weight is w = mu (1 - mu) at the new centre, V += w x x' and
    theta^j = theta_hat + V^-1 S^j, S^j += sqrt(w) x Z^j: linear ensemble sampling in the features
    sqrt(w) x, so that propensities, replay, snapshots, half-lives and lazy kernels are those of
    linear ensembles. The order in which rewards come matters a little, and so does where the centre
    was at first: the weights of the first observations stay what they were.

    `fit="exact"`: each member that acts is minimised by Newton's method to 1e-10 (cpp/newton.hpp),
    with the S^j of the stream fit. O(K d^2) a step on finite standing arms; other features are
    taken from the whole log, O(n d^2).

    `scale="auto"` is 0.75 and nothing is learned of it: the noise is known. `regularization="auto"`
    is a quarter of the mean squared norm of the arms, so that a typical arm's logit has standard
    deviation 2 before anything is seen; 1/2 where arms change or are an oracle's. Where most arms
    have about the same mean, a feature that is always 1 says so.

    >>> import numpy as np, ensample as es
    >>> policy = es.EnsembleSampling(model=es.Logistic()).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> clicks = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=clicks.random() < [0.1, 0.6, 0.2][decision.arm])
    >>> int(policy.propensities().argmax()), bool(policy.mean[1] > 0.0 > max(policy.mean[[0, 2]]))
    (1, True)

    Proved of ensembles by this fit: nothing. Of fresh perturbations each round: O(d sqrt(n log K))
    regret for GLM-TSL and GLM-FPL; for EVILL after a warm-up that no horizon here reaches.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss
    minimisation", AISTATS 2024; for the stream fit L. Faury et al., "Jointly Efficient and Optimal
    Algorithms for Logistic Bandits", AISTATS 2022.
    """

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    spread: ClassVar[float] = 0.5
    code: ClassVar[int] = LOGISTIC_LINK

    def mean(self, u: Any) -> Any:
        predictors = np.asarray(u, float)
        means = _core.link_means(LOGISTIC_LINK, np.ascontiguousarray(predictors.ravel()))
        return means.reshape(predictors.shape)

    def slope(self, u: Any) -> Any:
        predictors = np.asarray(u, float)
        slopes = _core.link_slopes(LOGISTIC_LINK, np.ascontiguousarray(predictors.ravel()))
        return slopes.reshape(predictors.shape)

    def surplus(self, u: Any, y: Any) -> Any:
        return (1.0 - y) * self.mean(u) - y * self.mean(-u)
