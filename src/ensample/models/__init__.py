"""How a reward depends on features: what a policy learns and acts on."""

from ensample.models.description import LINEAR, Linear, RewardModel
from ensample.models.drawn import DrawnModel
from ensample.models.ensemble import LinearEnsemble
from ensample.models.fresh import FreshEnsemble, FreshStream, FreshWithIntercept
from ensample.models.generalized import GeneralizedLinear
from ensample.models.intercept import EnsembleWithIntercept
from ensample.models.linear import LinearModel
from ensample.models.logistic import Logistic
from ensample.models.model import Model

__all__ = [
    "LINEAR",
    "DrawnModel",
    "EnsembleWithIntercept",
    "FreshEnsemble",
    "FreshStream",
    "FreshWithIntercept",
    "GeneralizedLinear",
    "Linear",
    "LinearEnsemble",
    "LinearModel",
    "Logistic",
    "Model",
    "RewardModel",
]
