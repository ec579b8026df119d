"""How a reward depends on features: what a policy learns and acts on."""

from ensample.models.base import Chooser, Model, RewardModel
from ensample.models.ensemble import LINEAR, FreshEnsemble, Linear, LinearEnsemble
from ensample.models.glm import GeneralizedLinear, Logistic
from ensample.models.linear import DrawnModel, LinearModel

__all__ = [
    "LINEAR",
    "Chooser",
    "DrawnModel",
    "FreshEnsemble",
    "GeneralizedLinear",
    "Linear",
    "LinearEnsemble",
    "LinearModel",
    "Logistic",
    "Model",
    "RewardModel",
]
