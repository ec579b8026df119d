"""Ensemble sampling for decisions.

Keep many models of the reward, each trained on slightly perturbed data; each round act greedily on one of them.

>>> import numpy as np
>>> import ensample as es
>>> policy = es.EnsembleSampling(size=100, scale=0.3).start(es.FiniteArms(np.eye(3)), seed=0)
>>> decision = policy.decide()
>>> policy.update(decision, reward=1.0)

Recipes: `EnsembleSampling`, `PerturbedHistory` (LinPHE). What the paper prescribes: `theory`, `Setting`.
"""

from ensample import theory
from ensample.arms import Arms, Box, ChangingArms, FiniteArms, OracleArms, UnitBall
from ensample.errors import (
    AssumptionError,
    DecisionError,
    EnsampleError,
    InvalidArgument,
    LiveSimulationWarning,
    PropensityError,
    SnapshotError,
    StudyError,
    WrongType,
)
from ensample.lab import Results, Study, run_study
from ensample.members import MemberRule, OptimisticMember, RoundRobin, StickyMember, UniformMember
from ensample.perturbations import (
    CenteredBinomial,
    Gaussian,
    InitialLaw,
    Perturbation,
    Rademacher,
    Sphere,
    Uniform,
)
from ensample.policies import (
    Decision,
    Diagnostics,
    EnsemblePlusPlus,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    KvetonPHE,
    LinUCB,
    Log,
    PerturbedHistory,
    Policy,
    Recipe,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
    ThompsonSampling,
    load,
)
from ensample.problems import (
    BernoulliNoise,
    ContextualLinearProblem,
    GaussianNoise,
    HeteroscedasticNoise,
    LinearProblem,
    RademacherNoise,
    problem,
)
from ensample.simulation import Runs, simulate
from ensample.theory import Setting
from ensample.version import __version__

__all__ = [
    "Arms",
    "AssumptionError",
    "BernoulliNoise",
    "Box",
    "CenteredBinomial",
    "ChangingArms",
    "ContextualLinearProblem",
    "Decision",
    "DecisionError",
    "Diagnostics",
    "EnsampleError",
    "EnsemblePlusPlus",
    "EnsembleSampling",
    "EpsilonGreedy",
    "FiniteArms",
    "Gaussian",
    "GaussianNoise",
    "Greedy",
    "HeteroscedasticNoise",
    "InformationDirected",
    "InitialLaw",
    "InvalidArgument",
    "KvetonPHE",
    "LinUCB",
    "LinearProblem",
    "LiveSimulationWarning",
    "Log",
    "MemberRule",
    "OptimisticMember",
    "OracleArms",
    "Perturbation",
    "PerturbedHistory",
    "Policy",
    "PropensityError",
    "Rademacher",
    "RademacherNoise",
    "Recipe",
    "RefreshedEnsembleSampling",
    "Results",
    "RoundRobin",
    "Runs",
    "Setting",
    "SharpEnsembleSampling",
    "SnapshotError",
    "Sphere",
    "StickyMember",
    "Study",
    "StudyError",
    "SymmetrizedEnsembleSampling",
    "ThompsonSampling",
    "Uniform",
    "UniformMember",
    "UnitBall",
    "WrongType",
    "__version__",
    "load",
    "problem",
    "run_study",
    "simulate",
    "theory",
]
