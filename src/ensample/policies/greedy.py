"""Greedy: no exploration at all."""

from dataclasses import dataclass

import numpy as np

from ensample.arms import Arms, FiniteArms
from ensample.checks import number
from ensample.errors import PropensityError
from ensample.kernels import ensemble, ridge
from ensample.policies.model import ModelPolicy
from ensample.policies.recipe import Recipe
from ensample.types import FloatArray

__all__ = ["Greedy", "GreedyPolicy"]


@dataclass(frozen=True)
class Greedy(Recipe):
    """Always play what the ridge estimate likes best: argmax_x x'theta_hat, the lowest index on ties.

    Nothing is random, so a propensity is 0 or 1. O(d^2 + K d) a round, on any arms.

    >>> import numpy as np
    >>> from ensample.arms import FiniteArms
    >>> from ensample.policies.greedy import Greedy
    >>> policy = Greedy().start(FiniteArms(np.eye(3)))
    >>> for _ in range(10):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> decision.arm  # it never finds out about arm 1
    0

    Proved: nothing without assumptions on the diversity of the arms; its regret can be linear, as here.

    Reference: H. Bastani, M. Bayati and K. Khosravi, "Mostly Exploration-Free Algorithms for Contextual Bandits",
    Management Science 2021 (when it does suffice).
    """

    regularization: float = 1.0
    scale = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "regularization", number("regularization", self.regularization, 1e-12, 1e50))

    def start(self, arms: Arms, seed: int = 0) -> "GreedyPolicy":
        return GreedyPolicy(self, arms, seed)


class GreedyPolicy(ModelPolicy):
    """Greed at work."""

    def _model(self, round: int) -> FloatArray:
        return self.mean

    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        return ridge.observe(self._ridge.state, x, y)

    def _weights(self, round: int, offered: Arms) -> FloatArray:
        if not isinstance(offered, FiniteArms):
            raise PropensityError(f"propensities need finitely many arms, here {offered!r}; give the features of the round")
        weights = np.zeros(len(offered))
        weights[ensemble.greedy(self._ridge.mean, offered.by_coordinate)] = 1.0
        return weights
