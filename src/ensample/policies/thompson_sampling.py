"""Linear Thompson sampling (LinTS)."""

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms
from ensample.calibration import AUTO, Inflation
from ensample.checks import boolean, instance
from ensample.errors import InvalidArgument
from ensample.models import LINEAR, DrawnModel, GeneralizedLinear, Linear, Model, RewardModel
from ensample.models.glm import EXACT
from ensample.perturbations import GAUSSIAN, Gaussian
from ensample.perturbations.laws import standard_normals
from ensample.policies.glm import ExactDraw, StreamDraw
from ensample.policies.perturbed_history import HistoryModel
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.theory import Setting, radius
from ensample.theory.assumptions import require_regularization
from ensample.theory.guarantee import Theorem
from ensample.types import Auto, FloatArray


@dataclass(frozen=True)
class ThompsonSampling(Recipe):
    """Each round draw a parameter around the ridge estimate and act greedily on it.

    theta_t ~ N(theta_hat, scale_t^2 V^-1). With `scale="auto"` scale_t is the standard deviation of
    the noise, learned with the regularization from the rewards (`ensample.calibration`). Else
    `scale` is scale_t itself, or what multiplies it: with `adaptive`, the standard deviation of the
    rewards so far (with n, not n - 1, in its denominator; 0 before two rewards differ, so that the
    first choices are greedy); with the setting of `from_theorem`, beta_t(delta / (4T)), the radius
    of `ensample.theory.radius` after t rewards at that smaller delta. O(d^2) a round beyond the
    arms, which may be any. `half_life` as in `EnsembleSampling`: V and theta_hat are those of a
    past that fades; O(d^3) a round.

    >>> import numpy as np
    >>> from ensample.arms import UnitBall
    >>> from ensample.policies.thompson_sampling import ThompsonSampling
    >>> policy = ThompsonSampling(scale=0.3).start(UnitBall(2), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=decision.features @ [0.6, 0.8])
    >>> bool(decision.features @ [0.6, 0.8] > 0.95)
    True

    `model=Logistic("exact")` is GLM-TSL: theta_t ~ N(theta_hat, scale^2 H^-1), the Laplace
    approximation at the minimiser of the logistic loss, H its Hessian there; with `Logistic()` both
    are those of the stream fit. "auto" is scale 1. Proved of GLM-TSL, with constants that grow: O(d
    sqrt(T log K)).

    Proved for `from_theorem`, on any one set of arms of norm <= 1: regret of order d^(3/2) sqrt(T),
    logarithms aside. Its radius is the tighter one, d log(1 + t/(d lam)) under the root
    (Abbasi-Yadkori et al. 2011, Theorem 2), where Abeille & Lazaric have d log(1 + t/lam). The
    scale of Bayes, sigma, has a guarantee on average over its prior only, and can fail for good
    (the problem `trap`).

    Reference: M. Abeille and A. Lazaric, "Linear Thompson Sampling Revisited", AISTATS 2017;
    `adaptive` is the LinTS of S. Wu, C. Wang and Y. Li, "Residual Bootstrap Exploration for
    Stochastic Linear Bandit", UAI 2022; GLM-TSL: B. Kveton et al., "Randomized Exploration in
    Generalized Linear Bandits", AISTATS 2020.
    """

    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    adaptive: bool = False
    setting: Setting | None = field(default=None, kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)

    def __post_init__(self) -> None:
        self.check_scale()
        self.check_regularization()
        self.set_fields(adaptive=boolean("adaptive", self.adaptive))
        instance("setting", self.setting, Setting | None, "a Setting, or None")
        self.check_half_life()
        self.check_model(Linear, GeneralizedLinear)
        if self.adaptive and not isinstance(self.model, Linear):
            expected = f"False with {self.model!r}, whose noise is known"
            raise InvalidArgument("adaptive", True, expected)
        if self.half_life is not None and self.adaptive:
            expected = "None with adaptive=True, which looks at all rewards"
            raise InvalidArgument("half_life", self.half_life, expected)
        if self.setting is None:
            return
        if self.adaptive:
            expected = "False with a setting, whose theorem decides the scale"
            raise InvalidArgument("adaptive", True, expected)
        if self.setting.regularization != self.lam:
            expected = f"{self.setting.regularization:g}, as in the setting"
            raise InvalidArgument("regularization", self.regularization, expected)

    @classmethod
    def from_theorem(cls, setting: Setting) -> Self:
        """Return the recipe with scale_t = beta_t(delta / (4T)); `scale` is 1 and multiplies it.

        >>> from ensample.theory import Setting
        >>> setting = Setting(dim=5, arms=None, horizon=10_000, noise=1, norm=1)
        >>> recipe = ThompsonSampling.from_theorem(setting)
        >>> round(recipe.scale_after(0), 3), round(recipe.scale_after(10_000), 3)
        (6.214, 9.074)
        """
        instance("setting", setting, Setting, "a Setting")
        require_regularization("ThompsonSampling.from_theorem", setting)
        Theorem("ThompsonSampling.from_theorem", failures=1).require_confidence(setting)
        return cls(scale=1.0, regularization=setting.regularization, setting=setting)

    @property
    def calibrates(self) -> bool:
        return super().calibrates and not self.adaptive

    @property
    def reward_law(self) -> Gaussian:
        """The law to judge its randomness by: of the last round's scale if a theorem decides it."""
        horizon = None if self.setting is None else self.setting.horizon
        return Gaussian(self.unit_scale if horizon is None else self.scale_after(horizon))

    def scale_after(self, count: int) -> float:
        """Return scale_t after `count` rewards, or the factor of an adaptive recipe."""
        setting = self.setting
        if setting is None:
            return self.unit_scale
        smaller = replace(setting, delta=setting.delta / (4.0 * setting.horizon))
        return self.unit_scale * radius(smaller, count)

    def build(self, arms: Arms, address: Address) -> Model:
        if isinstance(self.model, GeneralizedLinear):
            return (Laplace if self.model.fit == EXACT else StreamDraw)(self, arms, address)
        if self.calibrates:  # theta_hat + sigma V^-1 (sqrt(prior) w + R'g), as V's prior changes
            return HistoryModel(self, arms, GAUSSIAN, GAUSSIAN, address)
        if self.half_life is not None:  # N(0, scale^2 V) as scale times N(0, lam I) + N(0, R'R)
            laws = Gaussian(math.sqrt(self.lam) * self.unit_scale), Gaussian(self.unit_scale)
            return HistoryModel(self, arms, *laws, address)
        return ThompsonModel(self, arms.dim, address)

    @property
    def factor(self) -> Inflation:
        """Return `scale_after` as kernels take it."""
        setting = self.setting
        if self.calibrates:
            return Inflation(self.boldness, learned=True)
        if setting is None:
            return Inflation(self.unit_scale)
        tail = 2.0 * math.log(4.0 * setting.horizon / setting.delta)
        base = self.unit_scale * math.sqrt(setting.regularization) * setting.norm
        return Inflation(base, self.unit_scale * setting.noise, tail)


class ThompsonModel(DrawnModel):
    """N(theta_hat, scale_t^2 V^-1), by a root of V."""

    def __init__(self, recipe: ThompsonSampling, dim: int, address: Address) -> None:
        super().__init__(dim, recipe.lam)
        self.recipe = recipe
        self.address = address
        self.root = math.sqrt(recipe.lam) * np.eye(dim)  # R, upper triangular, R'R = V
        self.rewards = np.zeros(3)  # their number, mean and sum of squared deviations from it

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        _core.learn_posterior(self.state, self.root, self.rewards, x, y)

    def fault(self) -> str | None:
        return super().fault() or (
            "squares below 0" if (self.rewards < 0.0)[[0, 2]].any() else None
        )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "root": self.root, "rewards": self.rewards}

    def draw(self, round: int) -> FloatArray:
        g = standard_normals(self.address.generator(Stream.PERTURBATION, round), self.dim)
        total = np.zeros(self.dim)
        _core.add_rows(total, self.root, self._scale() * g)  # V^-1 R'g ~ N(0, V^-1)
        return _core.shift_mean(self.state, total)

    def _scale(self) -> float:
        scale = self.recipe.scale_after(self.count)
        if not self.recipe.adaptive:
            return scale
        count, _, squares = self.rewards.tolist()
        return scale * math.sqrt(squares / max(count, 1.0))


class Laplace(ExactDraw):
    """N(theta_hat, scale^2 H^-1): GLM-TSL."""

    def draw_from(self, rng: Generator) -> FloatArray:
        return np.asarray(self.centre.theta + _core.multiply(self.centre.inverse, self.shift(rng)))
