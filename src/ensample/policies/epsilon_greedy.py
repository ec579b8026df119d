"""Epsilon-greedy: explore blindly now and then."""

from dataclasses import dataclass, field

import numpy as np

from ensample.arms import Arms, ChangingArms, Offer
from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.models import LINEAR, Chooser, GeneralizedLinear, Linear, Model, RewardModel
from ensample.models.base import Choice
from ensample.models.neural import Trained
from ensample.policies.glm import centre_of
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray


@dataclass(frozen=True)
class EpsilonGreedy(Recipe):
    """With probability eps_t play an arm drawn uniformly, else argmax_x x'theta_hat.

    eps_t = epsilon or, where `decay` is given, decay / (decay + t) with t the number of the round,
    from 0. Propensities are exact: eps_t / K, and 1 - eps_t more for the greedy arm. Finite and
    changing arms; O(d^2 + K d) a round.

    >>> import numpy as np
    >>> from ensample.arms import FiniteArms
    >>> from ensample.policies.epsilon_greedy import EpsilonGreedy
    >>> policy = EpsilonGreedy(epsilon=0.2).start(FiniteArms(np.eye(4)), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1, 0.3][decision.arm])
    >>> policy.propensities().round(3).tolist()
    [0.05, 0.85, 0.05, 0.05]

    Proved: with a constant epsilon the regret is linear in T; with eps_t of order 1/t and the right
    constant, which the gap between the arms decides, it is logarithmic for independent arms.

    Reference: P. Auer, N. Cesa-Bianchi and P. Fischer, "Finite-time Analysis of the Multiarmed
    Bandit Problem", Machine Learning 2002.
    """

    epsilon: float = 0.1
    decay: float | None = None
    regularization: float = 1.0
    model: RewardModel = field(default=LINEAR, kw_only=True)
    scale = 0.0

    def __post_init__(self) -> None:
        self.set_fields(epsilon=number("epsilon", self.epsilon, 0.0, 1.0))
        if self.decay is not None:
            self.set_fields(decay=number("decay", self.decay, above=0.0))
        self.check_regularization(auto=False)
        self.check_model(Linear, GeneralizedLinear, Trained)

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if arms.rows is None and not isinstance(arms, ChangingArms):
            expected = "FiniteArms or ChangingArms: EpsilonGreedy needs arms it can enumerate"
            raise InvalidArgument("arms", arms, expected)

    def chance(self, t: int) -> float:
        """Return eps_t, the probability that round t explores."""
        return self.epsilon if self.decay is None else self.decay / (self.decay + t)

    def build(self, arms: Arms, address: Address) -> Model:
        return centre_of(self, arms, address)

    def chooser(self, model: Model) -> "ExploringChooser":
        return ExploringChooser(self, model)


class ExploringChooser(Chooser):
    """Play an arm drawn uniformly in some rounds, and what a model likes best in the others."""

    def __init__(self, recipe: "EpsilonGreedy", model: Model) -> None:
        self.recipe, self.model = recipe, model

    def choose(self, round: int, offer: Offer) -> Choice:
        if offer.rows is not None:
            rng = self.model.address.generator(Stream.MEMBER, round)
            explore, which = rng.random(2).tolist()
            if explore < self.recipe.chance(round):
                arm = int(which * len(offer.rows))
                return 0, arm, offer.rows[arm]
        return self.model.choose(round, offer)

    def propensities(self, round: int, offer: Offer) -> FloatArray:
        chance, greedy = self.recipe.chance(round), self.model.propensities(round, offer)
        return np.minimum(chance / greedy.size + (1.0 - chance) * greedy, 1.0)
