"""One algorithm a file: a recipe (frozen) and the policy it becomes.

What is imported here is what other layers use; a recipe is known by its line in
`ensample/__init__.pyi`.
"""

from ensample.policies.decision import Decision
from ensample.policies.diagnostics import Diagnostics
from ensample.policies.ensemble_plus_plus import EnsemblePlusPlus
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.epsilon_greedy import EpsilonGreedy
from ensample.policies.evill import EVILL
from ensample.policies.greedy import Greedy
from ensample.policies.information_directed import InformationDirected
from ensample.policies.kveton_phe import KvetonPHE
from ensample.policies.linucb import LinUCB
from ensample.policies.log import Log
from ensample.policies.perturbed_history import PerturbedHistory
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.refreshed import RefreshedEnsembleSampling
from ensample.policies.sharp import SharpEnsembleSampling
from ensample.policies.snapshot import load
from ensample.policies.symmetrized import SymmetrizedEnsembleSampling
from ensample.policies.thompson_sampling import ThompsonSampling

__all__ = [
    "EVILL",
    "Decision",
    "Diagnostics",
    "EnsemblePlusPlus",
    "EnsembleSampling",
    "EpsilonGreedy",
    "Greedy",
    "InformationDirected",
    "KvetonPHE",
    "LinUCB",
    "Log",
    "PerturbedHistory",
    "Policy",
    "Recipe",
    "RefreshedEnsembleSampling",
    "SharpEnsembleSampling",
    "SymmetrizedEnsembleSampling",
    "ThompsonSampling",
    "load",
]
