"""From contexts and actions to vectors: frozen descriptions, and what they have seen."""

from ensample.experiments.features.encoders import (
    Columns,
    Encoder,
    FromTransformer,
    Hashing,
    OneHot,
)
from ensample.experiments.features.features import Crosses, Disjoint, Features, Hybrid
from ensample.experiments.features.featuriser import Featuriser, as_features

__all__ = [
    "Columns",
    "Crosses",
    "Disjoint",
    "Encoder",
    "Features",
    "Featuriser",
    "FromTransformer",
    "Hashing",
    "Hybrid",
    "OneHot",
    "as_features",
]
