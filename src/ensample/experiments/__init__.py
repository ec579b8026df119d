"""Experiments: named actions, contexts, rewards that come late or never, and one log."""

from ensample.experiments.decision import NamedDecision
from ensample.experiments.experiment import Experiment
from ensample.experiments.features import (
    Columns,
    Crosses,
    Disjoint,
    Encoder,
    Features,
    FromTransformer,
    Hashing,
    Hybrid,
    OneHot,
)
from ensample.experiments.reward import Outcome, Reward

__all__ = [
    "Columns",
    "Crosses",
    "Disjoint",
    "Encoder",
    "Experiment",
    "Features",
    "FromTransformer",
    "Hashing",
    "Hybrid",
    "NamedDecision",
    "OneHot",
    "Outcome",
    "Reward",
]
