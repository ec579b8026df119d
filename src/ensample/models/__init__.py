"""How a reward depends on features: what a policy learns and acts on."""

from ensample.models.drawn import DrawnModel
from ensample.models.ensemble import LinearEnsemble
from ensample.models.intercept import EnsembleWithIntercept
from ensample.models.linear import LinearModel
from ensample.models.model import Model

__all__ = ["DrawnModel", "EnsembleWithIntercept", "LinearEnsemble", "LinearModel", "Model"]
