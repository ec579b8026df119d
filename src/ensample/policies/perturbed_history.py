"""Linear perturbed-history exploration (LinPHE), Algorithm 2 of Lee & Oh 2024."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms
from ensample.calibration import AUTO
from ensample.checks import instance
from ensample.errors import InvalidArgument
from ensample.models import LINEAR, DrawnModel, GeneralizedLinear, Linear, Model, RewardModel
from ensample.models.base import fault_of_counts
from ensample.models.glm import EXACT
from ensample.perturbations import GAUSSIAN, Gaussian, InitialLaw, Perturbation, drawn
from ensample.perturbations.laws import standard_normals
from ensample.policies.bookkeeping import LogSink
from ensample.policies.glm import ExactDraw, StreamDraw
from ensample.policies.recipe import PerturbationRecipe, Recipe
from ensample.randomness import Address, Stream
from ensample.theory import Guarantee, Setting, phe_bound
from ensample.theory.assumptions import require_corollary
from ensample.theory.guarantee import COROLLARY
from ensample.types import Auto, FloatArray


@dataclass(frozen=True)
class PerturbedHistory(PerturbationRecipe):
    """Perturb the whole history afresh each round and act greedily on the model fitted to it.

    theta_t = V^-1 (W_t + sum_{i<t} X_i (Y_i + Z_{t,i})): ensemble sampling with one member a round
    (the Proposition).

    `scale` is the paper's beta, or "auto", as in `EnsembleSampling`. How a round is drawn, always
    exactly: Gaussian rewards' law, any arms: sum_i X_i Z_i ~ N(0, scale^2 sum_i X_i X_i'), O(d^2)
    (with the default laws this is linear Thompson sampling, theta_t ~ N(theta_hat, scale^2 V^-1)).
    Other laws on finite arms: one sum for each arm, O(K d) where the law of a sum is known
    (Rademacher, CenteredBinomial) and O(t + K d) where it is not (Uniform). Other laws on infinite
    or changing arms: O(t d), as nothing else is exact.

    `half_life` as in `EnsembleSampling`, for a Gaussian law of the rewards: an observation that was
    followed by n others adds scale^2 g^n X_i X_i' to that covariance.

    >>> import numpy as np, ensample as es
    >>> policy = es.PerturbedHistory(scale=0.3).start(es.UnitBall(2), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=decision.features @ [0.6, 0.8])
    >>> bool(decision.features @ [0.6, 0.8] > 0.95)
    True

    `model=Logistic("exact")` is GLM-FPL: theta_t = argmin_theta sum_i [A(x_i'theta) - (y_i +
    Z_{t,i}) x_i'theta] + lam/2 |theta|^2 - theta'W_t with Z ~ N(0, (scale/2)^2), 1/2 being the
    largest standard deviation of a reward in [0, 1], and W ~ N(0, scale^2 lam I); with `Logistic()`
    it is theta_hat + V^-1 (W_t + sum_i x_i Z_{t,i}) of the stream fit. Proved of GLM-FPL, with
    constants that grow: O(d sqrt(T log K)).

    Proved for `from_theorem` (see `ensample.theory.phe_bound`), for any number of arms, also where
    they change from round to round (not looking at the round's noise and perturbations) and regret
    is to the best of each round.

    Reference: H. Lee and M. Oh, "Improved Regret of Linear Ensemble Sampling", NeurIPS 2024; B.
    Kveton et al., "Perturbed-History Exploration in Stochastic Linear Bandits", UAI 2020; GLM-FPL:
    B. Kveton et al., "Randomized Exploration in Generalized Linear Bandits", AISTATS 2020.
    """

    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    initial: InitialLaw | None = None
    reward: Perturbation | None = None
    setting: Setting | None = field(default=None, kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)
    theorem_lets_arms_change: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check_fields()
        self.check_model(Linear, GeneralizedLinear)
        if not isinstance(self.model, Linear) and (self.initial or self.reward) is not None:
            expected = f"None with {self.model!r}: laws are Gaussian"
            raise InvalidArgument("reward", self.initial or self.reward, expected)
        if self.half_life is not None and not isinstance(self.reward_law, Gaussian):
            only = "only Gaussian perturbations have sums that can fade"
            expected = f"None with {self.reward_law!r}: {only}"
            raise InvalidArgument("half_life", self.half_life, expected)

    @property
    def rule(self) -> None:
        return None

    def least_numbers(self, arms: Arms) -> int:
        return 0

    @classmethod
    def from_theorem(cls, setting: Setting, perturbation: Perturbation = GAUSSIAN) -> Self:
        """Return the constants of the Corollary: scale beta_T, 3 beta_T for other laws.

        >>> import ensample as es
        >>> setting = es.Setting(dim=5, arms=None, horizon=10_000, noise=1, norm=1)
        >>> recipe = PerturbedHistory.from_theorem(setting)
        >>> round(recipe.scale, 3)
        7.633
        """
        instance("setting", setting, Setting, "a Setting")
        instance("perturbation", perturbation, Perturbation, "a perturbation such as Gaussian()")
        require_corollary(setting, perturbation)
        return cls(**cls.theorem_fields(setting, perturbation))

    def guarantee(self, setting: Setting) -> Guarantee:
        """Return the Corollary, at its constants."""
        if type(self) is not PerturbedHistory or not isinstance(self.model, Linear):
            return super().guarantee(setting)
        self.require_laws(COROLLARY, PerturbedHistory.from_theorem(setting, self.reward_law))
        return COROLLARY.guarantee(setting, phe_bound(setting, self.reward_law))

    def build(self, arms: Arms, address: Address) -> Model:
        if not isinstance(self.model, GeneralizedLinear):
            return HistoryModel(self, arms, self.initial_law, self.reward_law, address)
        if self.model.fit == EXACT:
            return FollowedLeader(self, arms, address)
        return StreamDraw(self, arms, address, self.model.spread)

    def check_log(self, arms: Arms, log: LogSink | bool | None) -> None:
        super().check_log(arms, log)
        if log is not True and not isinstance(self.reward_law, Gaussian):
            expected = f"True: {self.reward_law!r} perturbs what is in the log"
            raise InvalidArgument("log", log, expected)


class HistoryModel(DrawnModel):
    """Perturbs all rewards at once, by whatever has the law of their sums."""

    def __init__(
        self,
        recipe: Recipe,
        arms: Arms,
        initial: InitialLaw,
        reward: Perturbation,
        address: Address,
    ) -> None:
        super().__init__(arms.dim, recipe.prior(arms), recipe.rate)
        self.address, self.boldness = address, recipe.boldness
        self.initial, self.law = initial, reward
        self.rows = arms.rows
        self.root = np.zeros((arms.dim, arms.dim))  # R with R'R = sum X_i X_i', which may fade
        standing = 0 if arms.rows is None else len(arms.rows)
        self.pulls = np.zeros(standing, np.int64)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        _core.learn_history(self.state, self.root, self.pulls, arm, x, y, self.learning)

    def fault(self) -> str | None:
        return super().fault() or fault_of_counts(self.pulls, self.count)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "root": self.root, "pulls": self.pulls}

    def draw(self, round: int) -> FloatArray:
        rng = self.address.generator(Stream.PERTURBATION, round)
        total = drawn(self.initial, self.initial.draw_vectors(rng, 1, self.dim), (1, self.dim))[0]
        if self.unknown is None:
            self._perturb(total, rng)
            return _core.shift_mean(self.state, total)
        total *= np.sqrt(self.parts.prior)
        self._perturb(total, rng)
        return _core.shift_mean(self.state, self.inflation * total)

    @property
    def inflation(self) -> float:
        return 1.0 if self.unknown is None else self.boldness * self.sigma

    def _perturb(self, total: FloatArray, rng: Generator) -> None:
        """Add sum_i X_i Z_i to a total."""
        if isinstance(self.law, Gaussian):
            _core.add_rows(total, self.root, self.law.draw(rng, total.shape))
            return
        if self.rows is not None:
            sums = drawn(self.law, self.law.draw_sum(rng, self.pulls), self.pulls.shape)
            _core.add_rows(total, self.rows, sums)
        others = self.other_features()
        if len(others):
            draws = drawn(self.law, self.law.draw(rng, len(others)), (len(others),))
            _core.add_rows(total, others, draws)


class FollowedLeader(ExactDraw):
    """The fit to rewards that are perturbed by N(0, (scale spread)^2) each: GLM-FPL."""

    def draw_from(self, rng: Generator) -> FloatArray:
        seen = self.centre.seen
        total = self.scale * np.sqrt(self.parts.prior) * standard_normals(rng, self.dim)
        sizes = self.scale * self.link.spread * np.sqrt(seen.counts)
        _core.add_rows(total, seen.rows, sizes * standard_normals(rng, len(sizes)))
        return self.minimiser(total)
