"""Kernels of the core for all other linear recipes. Importing this module registers them in `dispatch.KERNELS`."""

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
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import Evaluation, run_kernel, simulates
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
from ensample.simulation.state import Rngs, RunState
from ensample.types import FloatArray

__all__: list[str] = []


def standing_rows(recipe: Recipe, problem: FiniteProblem) -> FloatArray:
    """Return the features of the arms on offer [K, d]; raise if the warm-up observes others."""
    features = np.ascontiguousarray(problem.by_coordinate.T)
    if len(features) < len(problem.features):
        raise InvalidArgument("warmup", problem.features[-1], f"the features of standing arms for {type(recipe).__name__}")
    return features


# Greedy and epsilon-greedy: cpp/simulate/greedy.hpp


@simulates(Greedy, FiniteProblem, Evaluation.EAGER)
def greedy(recipe: Greedy, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    run_kernel("epsilon_greedy", problem, state, Rngs(rngs.noise, rngs.member))


@simulates(EpsilonGreedy, FiniteProblem, Evaluation.EAGER)
def epsilon_greedy(recipe: EpsilonGreedy, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    generators = Rngs(rngs.noise, rngs.member)
    run_kernel("epsilon_greedy", problem, state, generators, epsilon=recipe.epsilon, decay=recipe.decay or 0.0)


# Optimism: cpp/simulate/linucb.hpp, cpp/simulate/sup_linucb.hpp


def why_not_linucb(recipe: LinUCB) -> str:
    """Return why it cannot run: its forms of beta_t, but for "constant", hold only where nothing fades."""
    return why_not_fading(recipe) if recipe.form != "constant" else ""


@simulates(LinUCB, FiniteProblem, Evaluation.EAGER, unless=why_not_linucb)
def linucb(recipe: LinUCB, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    learns_norm = recipe.norm is None and recipe.form != "constant"
    run_kernel("linucb", problem, state, Rngs(rngs.noise), factor=recipe.factor, watch_norm=learns_norm)


@simulates(SupLinUCB, FiniteProblem, Evaluation.EAGER)
def sup_linucb(recipe: SupLinUCB, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    standing_rows(recipe, problem)
    constants = {"stages": recipe.stages, "radius": recipe.radius, "floor": 1.0 / math.sqrt(recipe.horizon)}
    run_kernel("sup_linucb", problem, state, Rngs(rngs.noise), **constants)


# Models drawn anew each round: cpp/simulate/history.hpp


@simulates(PerturbedHistory, FiniteProblem, Evaluation.EAGER, unless=why_not_laws)
def perturbed_history(recipe: PerturbedHistory, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    kernel = "gaussian_history" if isinstance(recipe.reward_law, Gaussian) else "summed_history"
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation)
    run_kernel(kernel, problem, state, generators, **law_options(recipe), factor=factor_of(recipe))


def posterior_options(recipe: ThompsonSampling) -> dict[str, Any]:
    """Return options for W + sum_i X_i Z_i ~ N(0, V); without the prior's part in W where that is learned."""
    initial = Law(LAWS[Gaussian], 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam))
    return {"initial": initial, "reward": Law(LAWS[Gaussian], 1, 1.0), "factor": recipe.factor}


@simulates(ThompsonSampling, FiniteProblem, Evaluation.EAGER)
def thompson_sampling(recipe: ThompsonSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation)
    run_kernel("gaussian_history", problem, state, generators, **posterior_options(recipe), adaptive=recipe.adaptive)


def why_not_fresh_members(recipe: EnsembleSampling) -> str:
    return why_not_members(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=why_not_fresh_members)
def fresh_members(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation)
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run_kernel("gaussian_history", problem, state, generators, **options)


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
def moving_perturbed_history(
    recipe: PerturbedHistory, problem: ContextualProblem, state: RunState, rngs: RunGenerators
) -> None:
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    run_kernel("moving_history", problem, state, generators, **law_options(recipe), factor=factor_of(recipe))


def why_not_moving_posterior(recipe: ThompsonSampling) -> str:
    return why_not_fading(recipe) or (
        "kernels on moving arms do not follow the rewards' standard deviation" if recipe.adaptive else ""
    )


@simulates(ThompsonSampling, ContextualProblem, Evaluation.EAGER, unless=why_not_moving_posterior)
def moving_thompson_sampling(
    recipe: ThompsonSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators
) -> None:
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    run_kernel("moving_history", problem, state, generators, **posterior_options(recipe))


def why_not_moving_fresh(recipe: EnsembleSampling) -> str:
    return why_not_fading(recipe) or why_not_moving(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=why_not_moving_fresh)
def moving_fresh_members(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run_kernel("moving_history", problem, state, generators, **options)


# Information-directed sampling: cpp/simulate/information_directed.hpp


@simulates(InformationDirected, FiniteProblem, Evaluation.EAGER)
def information_directed(recipe: InformationDirected, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    kernel = "informed_by_fresh_members" if recipe.fresh else "informed_ensemble"
    generators = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run_kernel(kernel, problem, state, generators, **ensemble_options(recipe), factor=factor_of(recipe))


# Shared directions, pseudo-rewards, weights: in cpp/simulate/, ensemble_plus_plus.hpp,
# kveton_phe.hpp and multiplier_bootstrap.hpp


@simulates(EnsemblePlusPlus, FiniteProblem, Evaluation.EAGER)
def ensemble_plus_plus(recipe: EnsemblePlusPlus, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    generators = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run_kernel("ensemble_plus_plus", problem, state, generators, size=recipe.size, scale=recipe.scale)


@simulates(KvetonPHE, FiniteProblem, Evaluation.EAGER)
def kveton_phe(recipe: KvetonPHE, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    features = standing_rows(recipe, problem)
    first = {x.tobytes(): k for k, x in reversed(list(enumerate(features)))}  # equal arms share their pseudo-rewards
    opening = np.array([first[features[arm].tobytes()] for arm in problem.opening], np.int64)
    generators = Rngs(rngs.noise, perturbation=rngs.perturbation)
    problem = problem._replace(opening=opening)
    run_kernel("kveton_phe", problem, state, generators, scale=recipe.a, basis=independent_rows(features))


@simulates(MultiplierBootstrap, FiniteProblem, Evaluation.EAGER)
def multiplier_bootstrap(recipe: MultiplierBootstrap, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    basis = independent_rows(standing_rows(recipe, problem))
    constants = {"size": recipe.size, "spread": recipe.spread, "scale": recipe.pseudo, "basis": basis}
    run_kernel("multiplier_bootstrap", problem, state, Rngs(rngs.noise, rngs.member, rngs.perturbation), **constants)
