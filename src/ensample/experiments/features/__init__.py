"""From contexts and actions to vectors: frozen descriptions, and what they have seen."""

from ensample.experiments.features.columns import Columns
from ensample.experiments.features.crosses import Crosses
from ensample.experiments.features.disjoint import Disjoint
from ensample.experiments.features.encoder import Encoder
from ensample.experiments.features.features import Features
from ensample.experiments.features.featuriser import Featuriser, as_features
from ensample.experiments.features.hashing import Hashing
from ensample.experiments.features.hybrid import Hybrid
from ensample.experiments.features.one_hot import OneHot
from ensample.experiments.features.transformer import FromTransformer

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
