"""Greedy: no exploration at all."""

from dataclasses import dataclass, field

from ensample.arms import Arms
from ensample.calibration import AUTO
from ensample.models import LINEAR, GeneralizedLinear, Linear, LinearModel, Model, RewardModel
from ensample.models.neural import Trained
from ensample.policies.generalized import EXACT, ExactCentre, StreamCentre
from ensample.policies.recipe import Recipe, number_or_auto
from ensample.randomness import Address
from ensample.types import Auto


@dataclass(frozen=True)
class Greedy(Recipe):
    """Always play what the ridge estimate likes best: argmax_x x'theta_hat, the lowest index on ties.

    The regularization is learned from the rewards (`ensample.calibration`) unless it is given. Nothing is random, so a
    propensity is 0 or 1. O(d^2 + K d) a round, on any arms. `half_life` as in `EnsembleSampling`.

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

    Proved: nothing without assumptions on the diversity of the arms; its regret can be linear, as here.

    Reference: H. Bastani, M. Bayati and K. Khosravi, "Mostly Exploration-Free Algorithms for Contextual Bandits",
    Management Science 2021 (when it does suffice).
    """

    regularization: float | Auto = AUTO
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)
    scale = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "regularization",
            number_or_auto("regularization", self.regularization, 1e-12, 1e50),
        )
        self.check_half_life()
        self.check_model(Linear, GeneralizedLinear, Trained)

    @property
    def calibrates(self) -> bool:
        return self.regularization == AUTO and self.model.learns_noise

    def build(self, arms: Arms, address: Address) -> Model:
        return centre_of(self, arms, address)


def centre_of(recipe: Recipe, arms: Arms, address: Address) -> Model:
    """One member, the estimate from the real rewards."""
    if isinstance(recipe.model, Trained):
        return recipe.model.single(recipe.regularization, recipe.half_life, arms, address)
    if isinstance(recipe.model, GeneralizedLinear):
        return (ExactCentre if recipe.model.fit == EXACT else StreamCentre)(recipe, arms)
    return LinearModel(arms.dim, recipe.prior(arms), recipe.rate)
