"""Kernels of the core for stored ensembles.

Importing this module registers them in `dispatch.KERNELS`.
"""

from ensample.perturbations import Gaussian
from ensample.policies import (
    EnsembleSampling,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
)
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import ContextualRun, Evaluation, FiniteRun, simulates
from ensample.simulation.options import (
    ensemble_options,
    factor_of,
    why_not_fading,
    why_not_lazy,
    why_not_members,
    why_not_moving,
    why_not_stored,
)

__all__: list[str] = []


# Ensembles that keep their members: cpp/simulate/lazy.hpp


def why_not_lazy_ensemble(recipe: EnsembleSampling) -> str:
    """Return why it cannot be lazy.

    The perturbations that a member missed follow from whole pull counts.
    """
    return why_not_fading(recipe) or why_not_lazy(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=why_not_lazy_ensemble)
def lazy_ensemble(recipe: EnsembleSampling, run: FiniteRun) -> None:
    run.play(
        "lazy_ensemble",
        "member",
        "perturbation",
        **ensemble_options(recipe),
        factor=factor_of(recipe),
    )


@simulates(SymmetrizedEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_symmetrized(recipe: SymmetrizedEnsembleSampling, run: FiniteRun) -> None:
    run.play("lazy_ensemble", "member", "perturbation", **ensemble_options(recipe), symmetric=True)


@simulates(SharpEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_sharp(recipe: SharpEnsembleSampling, run: FiniteRun) -> None:
    run.play(
        "lazy_ensemble", "member", "perturbation", **ensemble_options(recipe), factor=recipe.factor
    )


@simulates(RefreshedEnsembleSampling, FiniteProblem, Evaluation.LAZY)
def lazy_refreshed(recipe: RefreshedEnsembleSampling, run: FiniteRun) -> None:
    run.play(
        "lazy_ensemble",
        "member",
        "perturbation",
        **ensemble_options(recipe),
        redraw_growth=recipe.threshold,
    )


# All members kept up to date: cpp/simulate/eager.hpp


def why_not_eager_ensemble(recipe: EnsembleSampling) -> str:
    return why_not_members(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.EAGER, unless=why_not_eager_ensemble)
def eager_ensemble(recipe: EnsembleSampling, run: FiniteRun) -> None:
    run.play(
        "eager_ensemble",
        "member",
        "perturbation",
        **ensemble_options(recipe),
        factor=factor_of(recipe),
    )


# Arms that change every round, or the ball: cpp/simulate/moving_ensemble.hpp


def why_not_eager_moving(recipe: EnsembleSampling) -> str:
    return why_not_fading(recipe) or why_not_moving(recipe) or why_not_stored(recipe)


def why_not_lazy_moving(recipe: EnsembleSampling) -> str:
    """Return why it cannot be lazy on moving arms.

    Only sums of Gaussian perturbations can be drawn at once.
    """
    gaussian = type(recipe.reward_law) is Gaussian
    return why_not_eager_moving(recipe) or (
        "" if gaussian else f"no lazy law is known for {recipe.reward_law!r} on moving arms"
    )


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=why_not_lazy_moving)
def lazy_moving(recipe: EnsembleSampling, run: ContextualRun) -> None:
    run.play(
        "lazy_moving",
        "member",
        "perturbation",
        "context",
        **ensemble_options(recipe),
        factor=factor_of(recipe),
    )


@simulates(EnsembleSampling, ContextualProblem, Evaluation.EAGER, unless=why_not_eager_moving)
def eager_moving(recipe: EnsembleSampling, run: ContextualRun) -> None:
    run.play(
        "eager_moving",
        "member",
        "perturbation",
        "context",
        **ensemble_options(recipe),
        factor=factor_of(recipe),
    )
