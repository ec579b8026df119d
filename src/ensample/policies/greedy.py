"""Greedy: no exploration at all."""

from dataclasses import dataclass, field

from ensample.arms import Arms
from ensample.calibration import AUTO
from ensample.models import LINEAR, GeneralizedLinear, Linear, Model, RewardModel
from ensample.models.neural import Trained
from ensample.policies.glm import centre_of
from ensample.policies.recipe import Recipe
from ensample.randomness import Address
from ensample.types import Auto


@dataclass(frozen=True)
class Greedy(Recipe):
    """Always play argmax_x x'theta_hat, the lowest index on ties.

    The regularization is learned from the rewards (`ensample.calibration`) unless it is given.
    Nothing is random, so a propensity is 0 or 1. O(d^2 + K d) a round, on any arms. `half_life` as
    in `EnsembleSampling`.

    >>> import numpy as np
    >>> from ensample.arms import FiniteArms
    >>> from ensample.policies.greedy import Greedy
    >>> policy = Greedy().start(FiniteArms(np.eye(3)))
    >>> for _ in range(10):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> decision.arm  # it never finds out about arm 1
    0

    `model=Logistic()`: argmax_x x'theta_hat with theta_hat of the stream fit, or of the exact one.

    Proved: nothing without assumptions on the diversity of the arms; its regret can be linear, as
    here.

    Reference: H. Bastani, M. Bayati and K. Khosravi, "Mostly Exploration-Free Algorithms for
    Contextual Bandits", Management Science 2021 (when it does suffice).
    """

    regularization: float | Auto = AUTO
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)
    scale = 0.0

    def __post_init__(self) -> None:
        self.check_regularization()
        self.check_half_life()
        self.check_model(Linear, GeneralizedLinear, Trained)

    @property
    def calibrates(self) -> bool:
        return self.regularization == AUTO and self.model.learns_noise

    def build(self, arms: Arms, address: Address) -> Model:
        return centre_of(self, arms, address)
