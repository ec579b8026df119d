"""The public names, and what importing them costs."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
from ensample.names import HOMES
from ensample.registry import is_ours, name_of

NAMES = """
__version__ AdversarialDuplicates ApproximateArms Arms AssumptionError Ball BernoulliArms
BernoulliNoise Box Calibration CenteredBinomial Certificate ChangingArms Classification Clicks
Columns Contextual ContextualLinearProblem ContextualLogisticProblem ConvergenceWarning Crosses
Decision DecisionError Diagnostics Difference Disjoint Drift Encoder EnsampleError
EnsemblePlusPlus EnsembleSampling EpsilonGreedy Estimate evaluate Evaluation EVILL
EvillInstances Experiment Family FeatureCapWarning Features FiniteArms ForkError FromTransformer
Gaussian GaussianNoise GeneralizedLinear Greedy Guarantee Hashing HeteroscedasticNoise Hybrid
IdentifierWarning InformationDirected InitialLaw InvalidArgument Kveton KvetonPHE LeftOutWarning
Linear LinearProblem LinReBoot LinUCB LiveSimulationWarning load Log Logistic LogisticBandit
LogisticProblem MemberRule migrate_experiment MissingPackage Model MovingProblem
MultiplierBootstrap NamedDecision NetworkRewards Neural Noise NonFiniteError OneHot
open_experiment OptimisticMember OracleArms Perturbation PerturbedHistory Policy Pricing
PricingProblem problem Problem PropensityError Quadratic Rademacher RademacherNoise RandomSphere
Ratings read_dsjson read_log read_movielens read_open_bandit Recipe RefreshedEnsembleSampling
Rescaled Results Reward RewardModel RoundRobin run_study Runs SampledPropensities ServiceError
Setting setting_of SharpEnsembleSampling ShiftedProblem simulate SnapshotError SnapshotWarning
Sphere StickyMember StorageError StudentNoise Study StudyError SupLinUCB Switch
SymmetrizedEnsembleSampling theory ThompsonSampling TorchModel Trap TwoArms Uniform
UniformMember UnitBall Wheel WrongType
"""
THEORY = """
elliptical_potential_bound ensemble_size estimator_radius frontier Guarantee informative_horizon
measure Measurement optimistic_bound optimistic_radius optimistic_size P_N perturbation_radius
perturbation_scale phe_bound prior_work radius regret_bound Setting sharp_bound
sharp_optimistic_size sharp_share sharp_size sublinear_horizon theorem_bound Tradeoff ucb_bound
Work
"""


def test_the_public_names_are_these() -> None:
    assert set(es.__all__) == set(NAMES.split())
    assert set(es.theory.__all__) == set(THEORY.split())
    assert all(hasattr(es, name) for name in es.__all__)
    assert all(hasattr(es.theory, name) for name in es.theory.__all__)
    classes = [name for name in es.__all__ if name[0].isupper()]
    assert len({name.lower() for name in classes}) == len(classes), (
        "two classes differ by case only"
    )


def imported_by(code: str) -> set[str]:
    """The packages that a fresh process has imported after this code."""
    code = f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


HEAVY_NAMES = "matplotlib polars torch dask distributed typer rich starlette pandas"
HEAVY = set(HEAVY_NAMES.split())


def test_importing_brings_no_heavy_package() -> None:
    assert not imported_by("import ensample") & (HEAVY | {"numba", "llvmlite", "numpy", "scipy"})
    assert not imported_by("from ensample import *") & (HEAVY | {"numba", "llvmlite", "scipy"})


def test_a_round_brings_neither_a_compiler_nor_scipy() -> None:
    start = "import ensample as es; p = es.EnsembleSampling().start(es.FiniteArms([[1.0]]), seed=0)"
    code = f"{start}; p.update(p.decide(), 1.0)"
    light = "import sys; assert 'numpy.ma' not in sys.modules"
    assert not imported_by(f"{code}; {light}") & (HEAVY | {"numba", "llvmlite", "scipy"})


def test_type_checkers_and_python_are_told_the_same() -> None:
    """The list of names is a stub: Python reads it by its lines, type checkers by its grammar."""
    stub = Path(es.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    nodes = ast.parse(stub).body
    assert nodes and all(isinstance(node, ast.ImportFrom) for node in nodes)
    items = [(node.module, item) for node in nodes for item in node.names]
    assert all(item.name == item.asname for _, item in items), "else they are not exported"
    assert {item.name: module for module, item in items} == HOMES and len(items) == len(HOMES)


def test_names_are_at_home_where_they_are_made() -> None:
    """So that a class is told from its namesakes by its module."""
    made = [getattr(es, name) for name in es.__all__ if hasattr(getattr(es, name), "__qualname__")]
    assert len(made) > 60
    assert all(is_ours(thing) and name_of(thing) == thing.__name__ for thing in made)


def test_one_sees_the_public_names_only() -> None:
    assert all(hasattr(es, name) for name in es.__all__)  # also after each has been used
    assert dir(es) == sorted(es.__all__) and len(set(es.__all__)) == len(es.__all__)


def test_names_are_the_same_whichever_way_one_comes_to_them() -> None:
    everything: dict[str, object] = {}
    exec("from ensample import *", everything)
    assert {name: everything[name] for name in es.__all__} == {
        name: getattr(es, name) for name in es.__all__
    }
    assert es.Setting is es.theory.Setting
    assert es.Study is es.lab.Study
    assert es.simulate is es.simulation.simulate
    assert pickle.loads(pickle.dumps(es.EnsembleSampling)) is es.EnsembleSampling
    assert pickle.loads(pickle.dumps(es.LinUCB(0.5))) == es.LinUCB(0.5)


def test_a_slip_in_a_name_is_an_attribute_error() -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'ensample' has no attribute 'EnsembelSampling'"
    ) as caught:
        es.EnsembelSampling  # noqa: B018
    assert caught.value.name == "EnsembelSampling"
    assert caught.value.obj is es, "what Python needs to suggest another"
    with pytest.raises(ImportError):
        exec("from ensample import EnsembelSampling")


def test_the_base_install_needs_no_scipy() -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(['scipy', 'scipy.special']);"
        "import ensample as es; problem = es.problem('sphere', dim=2, arms=3);"
        "runs = es.simulate(es.EnsembleSampling(4, 0.3), problem, horizon=5, runs=2);"
        "runs._repr_html_(); runs.difference(runs)._repr_html_();"
        "setting = es.Setting(dim=2, arms=3, horizon=9, noise=1, norm=1);"
        "es.theory.ensemble_size(setting); import ensample.claims, ensample.cli.main"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_error_is_one_of_ours_and_a_builtin() -> None:
    assert issubclass(es.InvalidArgument, ValueError) and issubclass(es.WrongType, TypeError)
    assert issubclass(es.AssumptionError, ValueError) and issubclass(es.SnapshotError, ValueError)
    assert issubclass(es.StorageError, OSError)
    ours = "AssumptionError DecisionError InvalidArgument PropensityError SnapshotError"
    for name in (*ours.split(), "StorageError", "WrongType"):
        assert issubclass(getattr(es, name), es.EnsampleError)


def test_the_version_has_one_place() -> None:
    from importlib.metadata import version

    assert version("ensample") == es.__version__
