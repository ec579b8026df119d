"""How a reward depends on features: what a policy learns and acts on."""

from ensample.models.description import LINEAR, Linear, RewardModel
from ensample.models.drawn import DrawnModel
from ensample.models.ensemble import LinearEnsemble
from ensample.models.intercept import EnsembleWithIntercept
from ensample.models.linear import LinearModel
from ensample.models.model import Model

__all__ = [
    "LINEAR",
    "DrawnModel",
    "EnsembleWithIntercept",
    "Linear",
    "LinearEnsemble",
    "LinearModel",
    "Model",
    "RewardModel",
]
