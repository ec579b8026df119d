"""One algorithm a file: a recipe (frozen) and the policy it becomes."""

from ensample.policies.decision import Decision, Log
from ensample.policies.diagnostics import Diagnostics
from ensample.policies.ensemble_sampling import EnsemblePolicy, EnsembleSampling
from ensample.policies.epsilon_greedy import EpsilonGreedy
from ensample.policies.greedy import Greedy
from ensample.policies.linucb import LinUCB
from ensample.policies.loading import load
from ensample.policies.perturbed_history import PerturbedHistory, PerturbedHistoryPolicy
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.thompson_sampling import ThompsonSampling

__all__ = [
    "Decision",
    "Diagnostics",
    "EnsemblePolicy",
    "EnsembleSampling",
    "EpsilonGreedy",
    "Greedy",
    "LinUCB",
    "Log",
    "PerturbedHistory",
    "PerturbedHistoryPolicy",
    "Policy",
    "Recipe",
    "ThompsonSampling",
    "load",
]
