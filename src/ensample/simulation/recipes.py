"""Kernels of the core for all other linear recipes.

Importing this module registers them in `dispatch.KERNELS`.
"""

import math
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument
from ensample.perturbations import Gaussian
from ensample.policies import (
    EnsemblePlusPlus,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    KvetonPHE,
    LinUCB,
    PerturbedHistory,
    ThompsonSampling,
)
from ensample.policies.kveton_phe import independent_rows
from ensample.policies.multiplier_bootstrap import MultiplierBootstrap
from ensample.policies.recipe import Recipe
from ensample.policies.sup_linucb import SupLinUCB
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import ContextualRun, Evaluation, FiniteRun, simulates
from ensample.simulation.options import (
    LAWS,
    Law,
    ensemble_options,
    factor_of,
    law_options,
    why_not_fading,
    why_not_fresh,
    why_not_laws,
    why_not_members,
    why_not_moving,
)
from ensample.types import FloatArray

__all__: list[str] = []


def standing_rows(recipe: Recipe, problem: FiniteProblem) -> FloatArray:
    """Return the features of the arms on offer [K, d]; raise if the warm-up observes others."""
    features = np.ascontiguousarray(problem.by_coordinate.T)
    if len(features) < len(problem.features):
        raise InvalidArgument(
            "warmup",
            problem.features[-1],
            f"the features of standing arms for {type(recipe).__name__}",
        )
    return features


# Greedy and epsilon-greedy: cpp/simulate/greedy.hpp


@simulates(Greedy, FiniteProblem, Evaluation.EAGER)
def greedy(recipe: Greedy, run: FiniteRun) -> None:
    run.play("epsilon_greedy", "member")


@simulates(EpsilonGreedy, FiniteProblem, Evaluation.EAGER)
def epsilon_greedy(recipe: EpsilonGreedy, run: FiniteRun) -> None:
    run.play("epsilon_greedy", "member", epsilon=recipe.epsilon, decay=recipe.decay or 0.0)


# Optimism: cpp/simulate/linucb.hpp, cpp/simulate/sup_linucb.hpp


def why_not_linucb(recipe: LinUCB) -> str:
    """Return why it cannot run: its forms of beta_t, but for "constant", hold only where nothing fades."""
    return why_not_fading(recipe) if recipe.form != "constant" else ""


@simulates(LinUCB, FiniteProblem, Evaluation.EAGER, unless=why_not_linucb)
def linucb(recipe: LinUCB, run: FiniteRun) -> None:
    learns_norm = recipe.norm is None and recipe.form != "constant"
    run.play("linucb", factor=recipe.factor, watch_norm=learns_norm)


@simulates(SupLinUCB, FiniteProblem, Evaluation.EAGER)
def sup_linucb(recipe: SupLinUCB, run: FiniteRun) -> None:
    standing_rows(recipe, run.problem)
    constants = {
        "stages": recipe.stages,
        "radius": recipe.radius,
        "floor": 1.0 / math.sqrt(recipe.horizon),
    }
    run.play("sup_linucb", **constants)


# Models drawn anew each round: cpp/simulate/history.hpp


@simulates(PerturbedHistory, FiniteProblem, Evaluation.EAGER, unless=why_not_laws)
def perturbed_history(recipe: PerturbedHistory, run: FiniteRun) -> None:
    kernel = "gaussian_history" if isinstance(recipe.reward_law, Gaussian) else "summed_history"
    run.play(kernel, "perturbation", **law_options(recipe), factor=factor_of(recipe))


def posterior_options(recipe: ThompsonSampling) -> dict[str, Any]:
    """Return options for W + sum_i X_i Z_i ~ N(0, V); without the prior's part in W where that is learned."""
    initial = Law(LAWS[Gaussian], 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam))
    return {"initial": initial, "reward": Law(LAWS[Gaussian], 1, 1.0), "factor": recipe.factor}


@simulates(ThompsonSampling, FiniteProblem, Evaluation.EAGER)
def thompson_sampling(recipe: ThompsonSampling, run: FiniteRun) -> None:
    run.play(
        "gaussian_history", "perturbation", **posterior_options(recipe), adaptive=recipe.adaptive
    )


def why_not_fresh_members(recipe: EnsembleSampling) -> str:
    return why_not_members(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=why_not_fresh_members)
def fresh_members(recipe: EnsembleSampling, run: FiniteRun) -> None:
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run.play("gaussian_history", "perturbation", **options)


# The same on arms that change every round, or the ball


def why_not_moving_history(recipe: PerturbedHistory) -> str:
    """Return why it cannot run: without standing arms only Gaussian sums can be drawn."""
    gaussian = type(recipe.reward_law) is Gaussian
    return (
        why_not_fading(recipe)
        or why_not_laws(recipe)
        or ("" if gaussian else f"without standing arms {recipe.reward_law!r} has no sums to draw")
    )


@simulates(PerturbedHistory, ContextualProblem, Evaluation.EAGER, unless=why_not_moving_history)
def moving_perturbed_history(recipe: PerturbedHistory, run: ContextualRun) -> None:
    run.play(
        "moving_history", "perturbation", "context", **law_options(recipe), factor=factor_of(recipe)
    )


def why_not_moving_posterior(recipe: ThompsonSampling) -> str:
    return why_not_fading(recipe) or (
        "kernels on moving arms do not follow the rewards' standard deviation"
        if recipe.adaptive
        else ""
    )


@simulates(ThompsonSampling, ContextualProblem, Evaluation.EAGER, unless=why_not_moving_posterior)
def moving_thompson_sampling(recipe: ThompsonSampling, run: ContextualRun) -> None:
    run.play("moving_history", "perturbation", "context", **posterior_options(recipe))


def why_not_moving_fresh(recipe: EnsembleSampling) -> str:
    return why_not_fading(recipe) or why_not_moving(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=why_not_moving_fresh)
def moving_fresh_members(recipe: EnsembleSampling, run: ContextualRun) -> None:
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run.play("moving_history", "perturbation", "context", **options)


# Information-directed sampling: cpp/simulate/information_directed.hpp


@simulates(InformationDirected, FiniteProblem, Evaluation.EAGER)
def information_directed(recipe: InformationDirected, run: FiniteRun) -> None:
    kernel = "informed_by_fresh_members" if recipe.fresh else "informed_ensemble"
    run.play(kernel, "member", "perturbation", **ensemble_options(recipe), factor=factor_of(recipe))


# Shared directions, pseudo-rewards, weights: in cpp/simulate/, ensemble_plus_plus.hpp,
# kveton_phe.hpp and multiplier_bootstrap.hpp


@simulates(EnsemblePlusPlus, FiniteProblem, Evaluation.EAGER)
def ensemble_plus_plus(recipe: EnsemblePlusPlus, run: FiniteRun) -> None:
    run.play("ensemble_plus_plus", "member", "perturbation", size=recipe.size, scale=recipe.scale)


@simulates(KvetonPHE, FiniteProblem, Evaluation.EAGER)
def kveton_phe(recipe: KvetonPHE, run: FiniteRun) -> None:
    features = standing_rows(recipe, run.problem)
    first = {
        x.tobytes(): k for k, x in reversed(list(enumerate(features)))
    }  # equal arms share their pseudo-rewards
    opening = np.array([first[features[arm].tobytes()] for arm in run.problem.opening], np.int64)
    run = run._replace(problem=run.problem._replace(opening=opening))
    run.play("kveton_phe", "perturbation", scale=recipe.a, basis=independent_rows(features))


@simulates(MultiplierBootstrap, FiniteProblem, Evaluation.EAGER)
def multiplier_bootstrap(recipe: MultiplierBootstrap, run: FiniteRun) -> None:
    basis = independent_rows(standing_rows(recipe, run.problem))
    constants = {
        "size": recipe.size,
        "spread": recipe.spread,
        "scale": recipe.pseudo,
        "basis": basis,
    }
    run.play("multiplier_bootstrap", "member", "perturbation", **constants)
