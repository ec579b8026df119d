"""Kernels of the core for recipes with a linear model.

Importing this module registers them in `dispatch.KERNELS`.
"""

import math

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
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
    ThompsonSampling,
)
from ensample.policies.kveton_phe import independent_rows
from ensample.policies.multiplier_bootstrap import MultiplierBootstrap
from ensample.policies.recipe import Recipe
from ensample.policies.sup_linucb import SupLinUCB
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import Evaluation, Outcome, SimulatedRun, simulates
from ensample.simulation.options import (
    LAWS,
    Law,
    Options,
    ensemble_options,
    factor_of,
    law_options,
    why_not_fading,
    why_not_fresh,
    why_not_laws,
    why_not_lazy,
    why_not_members,
    why_not_moving,
    why_not_stored,
)
from ensample.types import FloatArray

LAZY, EAGER = Evaluation.LAZY, Evaluation.EAGER
MEMBERS = ("member", "perturbation")  # streams of kernels with members


def standing_rows(recipe: Recipe, problem: FiniteProblem) -> FloatArray:
    """Return the features of the arms on offer [K, d]; raise if the warm-up observes others."""
    features = np.ascontiguousarray(problem.by_coordinate.T)
    if len(features) < len(problem.features):
        expected = f"the features of standing arms for {type(recipe).__name__}"
        raise InvalidArgument("warmup", problem.features[-1], expected)
    return features


# Ensembles that keep their members, one of them brought up to date each round: lazy.hpp


def why_not_lazy_ensemble(recipe: EnsembleSampling) -> str:
    """Return why it cannot be lazy.

    The perturbations that a member missed follow from whole pull counts.
    """
    return why_not_fading(recipe) or why_not_lazy(recipe) or why_not_stored(recipe)


def stored_options(recipe: EnsembleSampling) -> Options:
    return {**ensemble_options(recipe), "factor": factor_of(recipe)}


@simulates(EnsembleSampling, FiniteProblem, LAZY, unless=why_not_lazy_ensemble)
def lazy_ensemble(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("lazy_ensemble", *MEMBERS, **stored_options(recipe))


@simulates(SymmetrizedEnsembleSampling, FiniteProblem, LAZY)
def lazy_symmetrized(recipe: SymmetrizedEnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("lazy_ensemble", *MEMBERS, **ensemble_options(recipe), symmetric=True)


@simulates(SharpEnsembleSampling, FiniteProblem, LAZY)
def lazy_sharp(recipe: SharpEnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("lazy_ensemble", *MEMBERS, **ensemble_options(recipe), factor=recipe.factor)


@simulates(RefreshedEnsembleSampling, FiniteProblem, LAZY)
def lazy_refreshed(recipe: RefreshedEnsembleSampling, run: SimulatedRun) -> Outcome:
    options = ensemble_options(recipe)
    return run.play("lazy_ensemble", *MEMBERS, **options, redraw_growth=recipe.threshold)


# All members kept up to date: eager.hpp


def why_not_eager_ensemble(recipe: EnsembleSampling) -> str:
    return why_not_members(recipe) or why_not_stored(recipe)


@simulates(EnsembleSampling, FiniteProblem, EAGER, unless=why_not_eager_ensemble)
def eager_ensemble(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("eager_ensemble", *MEMBERS, **stored_options(recipe))


# The same on arms that change every round, or the ball: moving_ensemble.hpp


def why_not_eager_moving(recipe: EnsembleSampling) -> str:
    return why_not_moving(recipe) or why_not_stored(recipe)


def why_not_lazy_moving(recipe: EnsembleSampling) -> str:
    """Return why it cannot be lazy: only sums of Gaussian perturbations can be drawn at once."""
    reason = f"no lazy law is known for {recipe.reward_law!r} on moving arms"
    gaussian = type(recipe.reward_law) is Gaussian
    return why_not_eager_moving(recipe) or ("" if gaussian else reason)


@simulates(EnsembleSampling, ContextualProblem, LAZY, unless=why_not_lazy_moving)
def lazy_moving(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("lazy_moving", *MEMBERS, "context", **stored_options(recipe))


@simulates(EnsembleSampling, ContextualProblem, EAGER, unless=why_not_eager_moving)
def eager_moving(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("eager_moving", *MEMBERS, "context", **stored_options(recipe))


# Models drawn anew each round: history.hpp


def history_options(recipe: PerturbedHistory | EnsembleSampling) -> Options:
    return {**law_options(recipe), "factor": factor_of(recipe)}


def posterior_options(recipe: ThompsonSampling) -> Options:
    """Return options for W + sum_i X_i Z_i ~ N(0, V).

    Where the prior is learned, its part in W has scale 1.
    """
    initial = Law(LAWS[Gaussian], 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam))
    return {"initial": initial, "reward": Law(LAWS[Gaussian], 1, 1.0), "factor": recipe.factor}


def fresh_options(recipe: EnsembleSampling) -> Options:
    return {**history_options(recipe), "ageing": recipe.ageing_rate}


def why_not_fresh_members(recipe: EnsembleSampling) -> str:
    return why_not_members(recipe) or why_not_fresh(recipe)


@simulates(PerturbedHistory, FiniteProblem, EAGER, unless=why_not_laws)
def perturbed_history(recipe: PerturbedHistory, run: SimulatedRun) -> Outcome:
    kernel = "gaussian_history" if isinstance(recipe.reward_law, Gaussian) else "summed_history"
    return run.play(kernel, "perturbation", **history_options(recipe))


@simulates(ThompsonSampling, FiniteProblem, EAGER)
def thompson_sampling(recipe: ThompsonSampling, run: SimulatedRun) -> Outcome:
    options = posterior_options(recipe)
    return run.play("gaussian_history", "perturbation", **options, adaptive=recipe.adaptive)


@simulates(EnsembleSampling, FiniteProblem, LAZY, unless=why_not_fresh_members)
def fresh_members(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("gaussian_history", "perturbation", **fresh_options(recipe))


# The same on arms that change every round, or the ball


def why_not_moving_history(recipe: PerturbedHistory) -> str:
    """Return why it cannot run: without standing arms only Gaussian sums can be drawn."""
    reason = f"without standing arms {recipe.reward_law!r} has no sums to draw"
    gaussian = type(recipe.reward_law) is Gaussian
    return why_not_fading(recipe) or why_not_laws(recipe) or ("" if gaussian else reason)


def why_not_moving_posterior(recipe: ThompsonSampling) -> str:
    reason = "kernels on moving arms do not follow the rewards' standard deviation"
    return why_not_fading(recipe) or (reason if recipe.adaptive else "")


def why_not_moving_fresh(recipe: EnsembleSampling) -> str:
    return why_not_moving(recipe) or why_not_fresh(recipe)


@simulates(PerturbedHistory, ContextualProblem, EAGER, unless=why_not_moving_history)
def moving_perturbed_history(recipe: PerturbedHistory, run: SimulatedRun) -> Outcome:
    return run.play("moving_history", "perturbation", "context", **history_options(recipe))


@simulates(ThompsonSampling, ContextualProblem, EAGER, unless=why_not_moving_posterior)
def moving_thompson_sampling(recipe: ThompsonSampling, run: SimulatedRun) -> Outcome:
    return run.play("moving_history", "perturbation", "context", **posterior_options(recipe))


@simulates(EnsembleSampling, ContextualProblem, LAZY, unless=why_not_moving_fresh)
def moving_fresh_members(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("moving_history", "perturbation", "context", **fresh_options(recipe))


# Greedy, epsilon-greedy and optimism: one_estimate.hpp


@simulates(Greedy, FiniteProblem, EAGER)
def greedy(recipe: Greedy, run: SimulatedRun) -> Outcome:
    return run.play("epsilon_greedy", "member")


@simulates(EpsilonGreedy, FiniteProblem, EAGER)
def epsilon_greedy(recipe: EpsilonGreedy, run: SimulatedRun) -> Outcome:
    return run.play("epsilon_greedy", "member", epsilon=recipe.epsilon, decay=recipe.decay or 0.0)


def why_not_linucb(recipe: LinUCB) -> str:
    """Return why it cannot run: most forms of beta_t hold only where nothing fades."""
    return why_not_fading(recipe) if recipe.form != "constant" else ""


@simulates(LinUCB, FiniteProblem, EAGER, unless=why_not_linucb)
def linucb(recipe: LinUCB, run: SimulatedRun) -> Outcome:
    learns_norm = recipe.norm is None and recipe.form != "constant"
    return run.play("linucb", factor=recipe.factor, watch_norm=learns_norm)


@simulates(SupLinUCB, FiniteProblem, EAGER)
def sup_linucb(recipe: SupLinUCB, run: SimulatedRun) -> Outcome:
    standing_rows(recipe, run.problem)
    floor = 1.0 / math.sqrt(recipe.horizon)
    return run.play("sup_linucb", stages=recipe.stages, radius=recipe.radius, floor=floor)


# Information, shared directions: eager.hpp. Pseudo-rewards, weights: bootstrap.hpp


@simulates(InformationDirected, FiniteProblem, EAGER)
def information_directed(recipe: InformationDirected, run: SimulatedRun) -> Outcome:
    kernel = "informed_by_fresh_members" if recipe.fresh else "informed_ensemble"
    return run.play(kernel, *MEMBERS, **ensemble_options(recipe), factor=factor_of(recipe))


@simulates(EnsemblePlusPlus, FiniteProblem, EAGER)
def ensemble_plus_plus(recipe: EnsemblePlusPlus, run: SimulatedRun) -> Outcome:
    return run.play("ensemble_plus_plus", *MEMBERS, size=recipe.size, scale=recipe.scale)


@simulates(KvetonPHE, FiniteProblem, EAGER)
def kveton_phe(recipe: KvetonPHE, run: SimulatedRun) -> Outcome:
    features = standing_rows(recipe, run.problem)
    # Equal arms share their pseudo-rewards: the first of them stands for all.
    first = {x.tobytes(): k for k, x in reversed(list(enumerate(features)))}
    opening = np.array([first[features[arm].tobytes()] for arm in run.problem.opening], np.int64)
    run = run._replace(problem=run.problem._replace(opening=opening))
    return run.play("kveton_phe", "perturbation", scale=recipe.a, basis=independent_rows(features))


@simulates(MultiplierBootstrap, FiniteProblem, EAGER)
def multiplier_bootstrap(recipe: MultiplierBootstrap, run: SimulatedRun) -> Outcome:
    basis = independent_rows(standing_rows(recipe, run.problem))
    options = {"size": recipe.size, "spread": recipe.spread, "scale": recipe.pseudo}
    return run.play("multiplier_bootstrap", *MEMBERS, **options, basis=basis)
