"""The kernels of the compiled core, and how their recipes are told to them. Importing this fills `dispatch.KERNELS`."""

from ensample.policies import (
    EnsembleSampling,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
)
from ensample.problems.arrays import FiniteProblem
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import Evaluation, run, simulates
from ensample.simulation.options import ensemble_options, factor_of, looks_at_all, remembers_all, why_not_stored
from ensample.simulation.state import Rngs, RunState

__all__: list[str] = []


# Ensembles that keep their members: cpp/simulate/lazy.hpp


def no_lazy_law(recipe: EnsembleSampling) -> str:
    """What is missed is known by whole numbers of pulls."""
    return remembers_all(recipe) or looks_at_all(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=no_lazy_law)
def lazy_ensemble(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("lazy_ensemble", problem, state, drawn, **ensemble_options(recipe), factor=factor_of(recipe))


@simulates(SymmetrizedEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_symmetrized(recipe: SymmetrizedEnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("lazy_ensemble", problem, state, drawn, **ensemble_options(recipe), symmetric=True)


@simulates(SharpEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_sharp(recipe: SharpEnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("lazy_ensemble", problem, state, drawn, **ensemble_options(recipe), factor=recipe.factor)


@simulates(RefreshedEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_refreshed(recipe: RefreshedEnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("lazy_ensemble", problem, state, drawn, **ensemble_options(recipe), redraw_growth=recipe.threshold)
