"""The public names, and what importing them costs."""

import subprocess
import sys

import ensample as es

NAMES = {
    "Arms AssumptionError Box CenteredBinomial ChangingArms Decision DecisionError Diagnostics EnsampleError",
    "EnsembleSampling FiniteArms Gaussian InitialLaw InvalidArgument Log MemberRule OptimisticMember OracleArms",
    "Perturbation PerturbedHistory Policy PropensityError Rademacher Recipe RoundRobin Setting SnapshotError Sphere",
    "Results Study StudyError StickyMember run_study",
    "Uniform UniformMember UnitBall WrongType __version__ load theory",
    "BernoulliNoise ContextualLinearProblem GaussianNoise HeteroscedasticNoise LinearProblem RademacherNoise Runs",
    "SymmetrizedEnsembleSampling SharpEnsembleSampling RefreshedEnsembleSampling KvetonPHE EnsemblePlusPlus",
    "InformationDirected problem simulate EpsilonGreedy Greedy LinUCB ThompsonSampling",
}
THEORY = {
    "P_N Setting Work elliptical_potential_bound ensemble_size estimator_radius informative_horizon optimistic_bound",
    "optimistic_radius optimistic_size perturbation_radius perturbation_scale phe_bound prior_work radius regret_bound",
    "sublinear_horizon theorem_bound ucb_bound",
}


def words(lines: set[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


def test_the_public_names_are_these() -> None:
    assert set(es.__all__) == words(NAMES)
    assert set(es.theory.__all__) == words(THEORY)
    assert all(hasattr(es, name) for name in es.__all__)
    assert all(hasattr(es.theory, name) for name in es.theory.__all__)


def test_importing_brings_no_heavy_package() -> None:
    heavy = ("matplotlib", "polars", "torch", "dask", "distributed", "typer", "rich", "starlette", "pandas")
    heavy += ("scipy.special", "scipy.stats")  # numba itself asks for the bare scipy's version
    code = f"import sys, ensample; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_base_install_needs_no_scipy() -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(['scipy', 'scipy.special']); import ensample as es;"
        "runs = es.simulate(es.EnsembleSampling(4, 0.3), es.problem('sphere', dim=2, arms=3), horizon=5, runs=2);"
        "runs._repr_html_(); setting = es.Setting(dim=2, arms=3, horizon=9, noise=1, norm=1);"
        "es.theory.ensemble_size(setting); import ensample.claims, ensample.cli.main"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_error_is_one_of_ours_and_a_builtin() -> None:
    assert issubclass(es.InvalidArgument, ValueError) and issubclass(es.WrongType, TypeError)
    assert issubclass(es.AssumptionError, ValueError) and issubclass(es.SnapshotError, ValueError)
    for name in ("AssumptionError", "DecisionError", "InvalidArgument", "PropensityError", "SnapshotError", "WrongType"):
        assert issubclass(getattr(es, name), es.EnsampleError)


def test_the_version_has_one_place() -> None:
    from importlib.metadata import version

    assert version("ensample") == es.__version__
