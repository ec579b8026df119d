"""How recipes beside stored ensembles are told to the kernels of the compiled core. Importing this fills `dispatch.KERNELS`."""

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
from ensample.simulation.dispatch import Evaluation, run, simulates
from ensample.simulation.options import (
    LAWS,
    Law,
    ensemble_options,
    factor_of,
    law_options,
    no_constant,
    remembers_all,
    unknown_laws,
    unknown_parts,
    why_not_fresh,
)
from ensample.simulation.state import Rngs, RunState

__all__: list[str] = []


def standing_rows(recipe: Recipe, problem: FiniteProblem) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the features of the arms on offer [K, d]; raise if the warm-up has others."""
    features = np.ascontiguousarray(problem.by_coordinate.T)
    if len(features) < len(problem.features):
        raise InvalidArgument("warmup", problem.features[-1], f"the features of standing arms for {type(recipe).__name__}")
    return features


# Greedy and epsilon-greedy: cpp/simulate/greedy.hpp


@simulates(Greedy, FiniteProblem, Evaluation.EAGER)
def greedy(recipe: Greedy, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    run("epsilon_greedy", problem, state, Rngs(rngs.noise, rngs.member))


@simulates(EpsilonGreedy, FiniteProblem, Evaluation.EAGER)
def epsilon_greedy(recipe: EpsilonGreedy, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member)
    run("epsilon_greedy", problem, state, drawn, epsilon=recipe.epsilon, decay=recipe.decay or 0.0)


# Optimism: cpp/simulate/linucb.hpp, cpp/simulate/sup_linucb.hpp


def other_form(recipe: LinUCB) -> str:
    """The forms of beta_t count observations, or the growth of det V, that do not fade."""
    return remembers_all(recipe) if recipe.form != "constant" else ""


@simulates(LinUCB, FiniteProblem, Evaluation.EAGER, unless=other_form)
def linucb(recipe: LinUCB, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    watched = recipe.norm is None and recipe.form != "constant"
    run("linucb", problem, state, Rngs(rngs.noise), factor=recipe.factor, watch_norm=watched)


@simulates(SupLinUCB, FiniteProblem, Evaluation.EAGER)
def sup_linucb(recipe: SupLinUCB, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    standing_rows(recipe, problem)
    constants = {"stages": recipe.stages, "radius": recipe.radius, "floor": 1.0 / math.sqrt(recipe.horizon)}
    run("sup_linucb", problem, state, Rngs(rngs.noise), **constants)


# Models drawn anew each round: cpp/simulate/history.hpp


@simulates(PerturbedHistory, FiniteProblem, Evaluation.EAGER, unless=unknown_laws)
def perturbed_history(recipe: PerturbedHistory, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    kernel = "gaussian_history" if isinstance(recipe.reward_law, Gaussian) else "summed_history"
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    run(kernel, problem, state, drawn, **law_options(recipe), factor=factor_of(recipe))


def posterior_options(recipe: ThompsonSampling) -> dict[str, Any]:
    """Return options for W + sum_i X_i Z_i ~ N(0, V); without the prior's part in W where that is learned."""
    initial = Law(LAWS[Gaussian], 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam))
    return {"initial": initial, "reward": Law(LAWS[Gaussian], 1, 1.0), "factor": recipe.factor}


@simulates(ThompsonSampling, FiniteProblem, Evaluation.EAGER)
def thompson_sampling(recipe: ThompsonSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    run("gaussian_history", problem, state, drawn, **posterior_options(recipe), adaptive=recipe.adaptive)


def not_fresh(recipe: EnsembleSampling) -> str:
    return unknown_parts(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=not_fresh)
def fresh_members(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run("gaussian_history", problem, state, drawn, **options)


# The same on arms that change every round, or the ball


def no_moving_history(recipe: PerturbedHistory) -> str:
    """Without standing arms only Gaussian sums can be drawn."""
    gaussian = type(recipe.reward_law) is Gaussian
    return (
        remembers_all(recipe)
        or unknown_laws(recipe)
        or ("" if gaussian else f"without standing arms {recipe.reward_law!r} has no sums to draw")
    )


@simulates(PerturbedHistory, ContextualProblem, Evaluation.EAGER, unless=no_moving_history)
def moving_perturbed_history(
    recipe: PerturbedHistory, problem: ContextualProblem, state: RunState, rngs: RunGenerators
) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    run("moving_history", problem, state, drawn, **law_options(recipe), factor=factor_of(recipe))


def is_adaptive(recipe: ThompsonSampling) -> str:
    return remembers_all(recipe) or (
        "kernels on moving arms do not follow the rewards' standard deviation" if recipe.adaptive else ""
    )


@simulates(ThompsonSampling, ContextualProblem, Evaluation.EAGER, unless=is_adaptive)
def moving_thompson_sampling(
    recipe: ThompsonSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators
) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    run("moving_history", problem, state, drawn, **posterior_options(recipe))


def not_fresh_on_moving_arms(recipe: EnsembleSampling) -> str:
    return remembers_all(recipe) or no_constant(recipe) or why_not_fresh(recipe)


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=not_fresh_on_moving_arms)
def moving_fresh_members(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    options = {**law_options(recipe), "factor": factor_of(recipe), "ageing": recipe.ageing_rate}
    run("moving_history", problem, state, drawn, **options)


# Information-directed sampling: cpp/simulate/information_directed.hpp


@simulates(InformationDirected, FiniteProblem, Evaluation.EAGER)
def information_directed(recipe: InformationDirected, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    kernel = "informed_by_fresh_members" if recipe.fresh else "informed_ensemble"
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run(kernel, problem, state, drawn, **ensemble_options(recipe), factor=factor_of(recipe))


# Shared directions, pseudo-rewards, weights: cpp/simulate/{ensemble_plus_plus,kveton_phe,multiplier_bootstrap}.hpp


@simulates(EnsemblePlusPlus, FiniteProblem, Evaluation.EAGER)
def ensemble_plus_plus(recipe: EnsemblePlusPlus, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("ensemble_plus_plus", problem, state, drawn, size=recipe.size, scale=recipe.scale)


@simulates(KvetonPHE, FiniteProblem, Evaluation.EAGER)
def kveton_phe(recipe: KvetonPHE, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    features = standing_rows(recipe, problem)
    first = {x.tobytes(): k for k, x in reversed(list(enumerate(features)))}  # equal arms share their pseudo-rewards
    opening = np.array([first[features[arm].tobytes()] for arm in problem.opening], np.int64)
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    problem = problem._replace(opening=opening)
    run("kveton_phe", problem, state, drawn, scale=recipe.a, basis=independent_rows(features))


@simulates(MultiplierBootstrap, FiniteProblem, Evaluation.EAGER)
def multiplier_bootstrap(recipe: MultiplierBootstrap, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    basis = independent_rows(standing_rows(recipe, problem))
    constants = {"size": recipe.size, "spread": recipe.spread, "scale": recipe.pseudo, "basis": basis}
    run("multiplier_bootstrap", problem, state, Rngs(rngs.noise, rngs.member, rngs.perturbation), **constants)
