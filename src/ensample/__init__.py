"""Ensemble sampling for decisions.

Keep many models of the reward, each trained on slightly perturbed data; each round act greedily on one of them.

>>> import numpy as np
>>> import ensample as es
>>> policy = es.EnsembleSampling(size=100, scale=0.3).start(es.FiniteArms(np.eye(3)), seed=0)
>>> decision = policy.decide()
>>> policy.update(decision, reward=1.0)

Recipes: `EnsembleSampling`, `PerturbedHistory` (LinPHE). What the paper prescribes: `theory`, `Setting`.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ensample.version import __version__ as __version__

if TYPE_CHECKING:  # for editors and type checkers; `_HOMES` says the same to Python
    from ensample import theory as theory
    from ensample.arms import Arms as Arms
    from ensample.arms import Box as Box
    from ensample.arms import ChangingArms as ChangingArms
    from ensample.arms import FiniteArms as FiniteArms
    from ensample.arms import OracleArms as OracleArms
    from ensample.arms import UnitBall as UnitBall
    from ensample.errors import AssumptionError as AssumptionError
    from ensample.errors import DecisionError as DecisionError
    from ensample.errors import EnsampleError as EnsampleError
    from ensample.errors import InvalidArgument as InvalidArgument
    from ensample.errors import LiveSimulationWarning as LiveSimulationWarning
    from ensample.errors import PropensityError as PropensityError
    from ensample.errors import SnapshotError as SnapshotError
    from ensample.errors import StorageError as StorageError
    from ensample.errors import StudyError as StudyError
    from ensample.errors import WrongType as WrongType
    from ensample.lab import Results as Results
    from ensample.lab import Study as Study
    from ensample.lab import run_study as run_study
    from ensample.members import MemberRule as MemberRule
    from ensample.members import OptimisticMember as OptimisticMember
    from ensample.members import RoundRobin as RoundRobin
    from ensample.members import StickyMember as StickyMember
    from ensample.members import UniformMember as UniformMember
    from ensample.perturbations import CenteredBinomial as CenteredBinomial
    from ensample.perturbations import Gaussian as Gaussian
    from ensample.perturbations import InitialLaw as InitialLaw
    from ensample.perturbations import Perturbation as Perturbation
    from ensample.perturbations import Rademacher as Rademacher
    from ensample.perturbations import Sphere as Sphere
    from ensample.perturbations import Uniform as Uniform
    from ensample.policies import Decision as Decision
    from ensample.policies import Diagnostics as Diagnostics
    from ensample.policies import EnsemblePlusPlus as EnsemblePlusPlus
    from ensample.policies import EnsembleSampling as EnsembleSampling
    from ensample.policies import EpsilonGreedy as EpsilonGreedy
    from ensample.policies import Greedy as Greedy
    from ensample.policies import InformationDirected as InformationDirected
    from ensample.policies import KvetonPHE as KvetonPHE
    from ensample.policies import LinUCB as LinUCB
    from ensample.policies import Log as Log
    from ensample.policies import PerturbedHistory as PerturbedHistory
    from ensample.policies import Policy as Policy
    from ensample.policies import Recipe as Recipe
    from ensample.policies import RefreshedEnsembleSampling as RefreshedEnsembleSampling
    from ensample.policies import SharpEnsembleSampling as SharpEnsembleSampling
    from ensample.policies import SymmetrizedEnsembleSampling as SymmetrizedEnsembleSampling
    from ensample.policies import ThompsonSampling as ThompsonSampling
    from ensample.policies import load as load
    from ensample.problems import BernoulliNoise as BernoulliNoise
    from ensample.problems import ContextualLinearProblem as ContextualLinearProblem
    from ensample.problems import GaussianNoise as GaussianNoise
    from ensample.problems import HeteroscedasticNoise as HeteroscedasticNoise
    from ensample.problems import LinearProblem as LinearProblem
    from ensample.problems import RademacherNoise as RademacherNoise
    from ensample.problems import problem as problem
    from ensample.simulation import Runs as Runs
    from ensample.simulation import simulate as simulate
    from ensample.simulation.warming import warm_up as warm_up
    from ensample.theory import Setting as Setting

_HOMES = {
    "arms": "Arms Box ChangingArms FiniteArms OracleArms UnitBall",
    "errors": "AssumptionError DecisionError EnsampleError InvalidArgument LiveSimulationWarning PropensityError "
    "SnapshotError StorageError StudyError WrongType",
    "lab": "Results Study run_study",
    "members": "MemberRule OptimisticMember RoundRobin StickyMember UniformMember",
    "perturbations": "CenteredBinomial Gaussian InitialLaw Perturbation Rademacher Sphere Uniform",
    "policies": "Decision Diagnostics Log Policy Recipe load "
    "EnsemblePlusPlus EnsembleSampling EpsilonGreedy Greedy InformationDirected KvetonPHE LinUCB PerturbedHistory "
    "RefreshedEnsembleSampling SharpEnsembleSampling SymmetrizedEnsembleSampling ThompsonSampling",
    "problems": "BernoulliNoise ContextualLinearProblem GaussianNoise HeteroscedasticNoise LinearProblem "
    "RademacherNoise problem",
    "simulation": "Runs simulate",
    "simulation.warming": "warm_up",
    "theory": "Setting",
}
"""The modules of the public names. Each is imported when a name of it is first used: the kernels' compiler takes a while."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(["__version__", "theory", *_HOME_OF])

if not TYPE_CHECKING:  # or else type checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """A public name, or the module of one, on its first use (PEP 562)."""
        if name not in _HOME_OF and name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        home = import_module(f"{__name__}.{_HOME_OF.get(name, name)}")
        globals()[name] = value = getattr(home, name) if name in _HOME_OF else home
        return value


def __dir__() -> list[str]:
    """The public names only: what `es.` and the tabulator key show."""
    return __all__
