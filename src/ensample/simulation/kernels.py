"""The kernels of the compiled core, and how their recipes are told to them. Importing this fills `dispatch.KERNELS`."""

from ensample.perturbations import Gaussian
from ensample.policies import (
    EnsembleSampling,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
)
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import Evaluation, run, simulates
from ensample.simulation.options import (
    ensemble_options,
    factor_of,
    looks_at_all,
    no_constant,
    remembers_all,
    unknown_parts,
    why_not_stored,
)
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


# All members kept up to date: cpp/simulate/eager.hpp


def no_eager_law(recipe: EnsembleSampling) -> str:
    return unknown_parts(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.EAGER, unless=no_eager_law)
def eager_ensemble(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("eager_ensemble", problem, state, drawn, **ensemble_options(recipe), factor=factor_of(recipe))


# Arms that change every round, or the ball: cpp/simulate/moving_ensemble.hpp


def no_moving_law(recipe: EnsembleSampling) -> str:
    return remembers_all(recipe) or no_constant(recipe) or why_not_stored(recipe)


def no_lazy_moving_law(recipe: EnsembleSampling) -> str:
    """Only a Gaussian law has one."""
    gaussian = type(recipe.reward_law) is Gaussian
    return no_moving_law(recipe) or ("" if gaussian else f"no lazy law is known for {recipe.reward_law!r} on moving arms")


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=no_lazy_moving_law)
def lazy_moving(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    run("lazy_moving", problem, state, drawn, **ensemble_options(recipe), factor=factor_of(recipe))


@simulates(EnsembleSampling, ContextualProblem, Evaluation.EAGER, unless=no_moving_law)
def eager_moving(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    run("eager_moving", problem, state, drawn, **ensemble_options(recipe), factor=factor_of(recipe))
