"""The version, and that of the numbers it gives, in one place."""

__version__ = "0.2.0"

NUMBERS = 7
"""Raise it when simulated runs give other numbers: results of different numbers do not mix."""

LIVE_NUMBERS = {
    "linear": 4,
    "calibrated": 5,  # linear `EnsembleSampling` and `LinUCB` that learn their scale: the defaults
    "logistic": 6,  # 5 was the number of logistic recipes that learn their scale, then "calibrated"
    "networks": 5,
}
"""The version of each model family (`Recipe.model_family`) in experiments.

Raise it when a live policy of this family comes to another state, or decides otherwise, by the same
seed and log: its experiments are then refused until `ensample migrate` has carried them over.
Version 0.2.0 wrote 4 for all of them.
"""
