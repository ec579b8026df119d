"""The kernels of the core, the recipes that they simulate, and the options that they take.

Importing this module registers them in `dispatch.KERNELS`.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument
from ensample.member_rules import UniformMember
from ensample.models import Logistic
from ensample.models.glm import EXACT
from ensample.perturbations import Gaussian
from ensample.policies import (
    EVILL,
    EnsemblePlusPlus,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    KvetonPHE,
    LinUCB,
    PerturbedHistory,
    Recipe,
    RefreshedEnsembleSampling,
    SharpEnsembleSampling,
    SymmetrizedEnsembleSampling,
    ThompsonSampling,
)
from ensample.policies.kveton_phe import independent_rows
from ensample.policies.multiplier_bootstrap import MultiplierBootstrap
from ensample.policies.sup_linucb import SupLinUCB
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import (
    Evaluation,
    Outcome,
    Simulate,
    SimulatedRun,
    plays,
    simulates,
)
from ensample.simulation.options import (
    LAWS,
    Law,
    Options,
    ensemble_options,
    factor_of,
    law_options,
    member_options,
    why_not_fading,
    why_not_fresh,
    why_not_laws,
    why_not_lazy,
    why_not_members,
    why_not_moving,
    why_not_stored,
    why_not_sums,
)
from ensample.types import FloatArray

LAZY, EAGER = Evaluation.LAZY, Evaluation.EAGER
FINITE, MOVING = FiniteProblem, ContextualProblem
DRAWS = ("perturbation",)  # streams of random numbers
MEMBERS = ("member", "perturbation")

# --- Linear models: ensembles that keep their members (lazy.hpp, eager.hpp, moving_ensemble.hpp)


def stored_options(recipe: EnsembleSampling) -> Options:
    return {**ensemble_options(recipe), "factor": factor_of(recipe)}


def with_members(kernel: str, options: Callable[[Any], Options]) -> Simulate:
    """Return a kernel with the options of an ensemble, and others."""
    return plays(kernel, lambda recipe: ensemble_options(recipe) | options(recipe), *MEMBERS)


# The perturbations that a member missed follow from whole pull counts: nothing may fade.
simulates(EnsembleSampling, FINITE, LAZY, why_not_fading, why_not_lazy, why_not_stored)(
    plays("lazy_ensemble", stored_options, *MEMBERS)
)
simulates(EnsembleSampling, FINITE, EAGER, why_not_members, why_not_stored)(
    plays("eager_ensemble", stored_options, *MEMBERS)
)
simulates(EnsembleSampling, MOVING, LAZY, why_not_moving, why_not_stored, why_not_sums)(
    plays("lazy_moving", stored_options, *MEMBERS, "context")
)
simulates(EnsembleSampling, MOVING, EAGER, why_not_moving, why_not_stored)(
    plays("eager_moving", stored_options, *MEMBERS, "context")
)
for relative, option in (
    (SymmetrizedEnsembleSampling, lambda recipe: {"symmetric": True}),
    (SharpEnsembleSampling, lambda recipe: {"factor": recipe.factor}),
    (RefreshedEnsembleSampling, lambda recipe: {"redraw_growth": recipe.threshold}),
):
    simulates(relative, FINITE, LAZY)(with_members("lazy_ensemble", option))

# --- Models drawn anew each round (history.hpp)


def history_options(recipe: PerturbedHistory | EnsembleSampling) -> Options:
    return {**law_options(recipe), "factor": factor_of(recipe)}


def fresh_options(recipe: EnsembleSampling) -> Options:
    return {**history_options(recipe), "ageing": recipe.ageing_rate}


def posterior_options(recipe: ThompsonSampling) -> Options:
    """Return options for W + sum_i X_i Z_i ~ N(0, V).

    Where the prior is learned, its part in W has scale 1.
    """
    initial = Law(LAWS[Gaussian], 1, 1.0 if recipe.calibrates else math.sqrt(recipe.lam))
    laws = {"initial": initial, "reward": Law(LAWS[Gaussian], 1, 1.0)}
    return {**laws, "factor": recipe.factor, "adaptive": recipe.adaptive}


def history_kernel(recipe: PerturbedHistory) -> str:
    return "gaussian_history" if isinstance(recipe.reward_law, Gaussian) else "summed_history"


def why_not_adaptive(recipe: ThompsonSampling) -> str:
    reason = "kernels on moving arms do not follow the rewards' standard deviation"
    return reason if recipe.adaptive else ""


simulates(PerturbedHistory, FINITE, EAGER, why_not_laws)(
    plays(history_kernel, history_options, *DRAWS)
)
simulates(ThompsonSampling, FINITE, EAGER)(plays("gaussian_history", posterior_options, *DRAWS))
simulates(EnsembleSampling, FINITE, LAZY, why_not_members, why_not_fresh)(
    plays("gaussian_history", fresh_options, *DRAWS)
)
simulates(PerturbedHistory, MOVING, EAGER, why_not_fading, why_not_laws, why_not_sums)(
    plays("moving_history", history_options, *DRAWS, "context")
)
simulates(ThompsonSampling, MOVING, EAGER, why_not_fading, why_not_adaptive)(
    plays("moving_history", posterior_options, *DRAWS, "context")
)
simulates(EnsembleSampling, MOVING, LAZY, why_not_moving, why_not_fresh)(
    plays("moving_history", fresh_options, *DRAWS, "context")
)

# --- Greedy, epsilon-greedy and optimism (one_estimate.hpp)


def exploration_options(recipe: EpsilonGreedy) -> Options:
    return {"epsilon": recipe.epsilon, "decay": recipe.decay or 0.0}


def optimism_options(recipe: LinUCB) -> Options:
    learns_norm = recipe.norm is None and recipe.form != "constant"
    return {"factor": recipe.factor, "watch_norm": learns_norm}


def why_not_linucb(recipe: LinUCB) -> str:
    """Return why most forms of beta_t do not hold: something fades."""
    return why_not_fading(recipe) if recipe.form != "constant" else ""


simulates(Greedy, FINITE, EAGER)(plays("epsilon_greedy", lambda recipe: {}, "member"))
simulates(EpsilonGreedy, FINITE, EAGER)(plays("epsilon_greedy", exploration_options, "member"))
simulates(LinUCB, FINITE, EAGER, why_not_linucb)(plays("linucb", optimism_options))


def standing_rows(recipe: Recipe, problem: FiniteProblem) -> FloatArray:
    """Return the features of the arms on offer [K, d]; raise if the warm-up observes others."""
    features = np.ascontiguousarray(problem.by_coordinate.T)
    if len(features) < len(problem.features):
        expected = f"the features of standing arms for {type(recipe).__name__}"
        raise InvalidArgument("warmup", problem.features[-1], expected)
    return features


@simulates(SupLinUCB, FINITE, EAGER)
def sup_linucb(recipe: SupLinUCB, run: SimulatedRun) -> Outcome:
    standing_rows(recipe, run.problem)
    floor = 1.0 / math.sqrt(recipe.horizon)
    return run.play("sup_linucb", stages=recipe.stages, radius=recipe.radius, floor=floor)


# --- Information, shared directions, pseudo-rewards, weights (eager.hpp, bootstrap.hpp)

simulates(InformationDirected, FINITE, EAGER)(
    plays(
        lambda recipe: "informed_by_fresh_members" if recipe.fresh else "informed_ensemble",
        stored_options,
        *MEMBERS,
    )
)
simulates(EnsemblePlusPlus, FINITE, EAGER)(
    plays(
        "ensemble_plus_plus", lambda recipe: {"size": recipe.size, "scale": recipe.scale}, *MEMBERS
    )
)


@simulates(KvetonPHE, FINITE, EAGER)
def kveton_phe(recipe: KvetonPHE, run: SimulatedRun) -> Outcome:
    features = standing_rows(recipe, run.problem)
    # Equal arms share their pseudo-rewards: the first of them stands for all.
    first = {x.tobytes(): k for k, x in reversed(list(enumerate(features)))}
    opening = np.array([first[features[arm].tobytes()] for arm in run.problem.opening], np.int64)
    run = run._replace(problem=run.problem._replace(opening=opening))
    return run.play("kveton_phe", *DRAWS, scale=recipe.a, basis=independent_rows(features))


@simulates(MultiplierBootstrap, FINITE, EAGER)
def multiplier_bootstrap(recipe: MultiplierBootstrap, run: SimulatedRun) -> Outcome:
    basis = independent_rows(standing_rows(recipe, run.problem))
    options = {"size": recipe.size, "spread": recipe.spread, "scale": recipe.pseudo}
    return run.play("multiplier_bootstrap", *MEMBERS, **options, basis=basis)


# --- Logistic models, the stream fit (lazy.hpp, history.hpp, moving_ensemble.hpp)

MIN_PRIOR_SHARE = 1e-8  # of the prior in V: a root of V in doubles keeps eight digits of it


def model_of(recipe: Recipe) -> Logistic:
    assert isinstance(recipe.model, Logistic)  # by the registry
    return recipe.model


def why_not_stream(recipe: EnsembleSampling) -> str:
    if model_of(recipe).fit != "stream":
        return 'only fit="stream" has a lazy law'
    if recipe.initial is not None or recipe.reward is not None:
        return "the lazy law of the stream fit is that of the default laws"
    return why_not_fading(recipe) or why_not_lazy(recipe)


def stream_options(recipe: EnsembleSampling) -> Options:
    return {"link": model_of(recipe).code, "scale": recipe.unit_scale}


def stored_stream_options(recipe: EnsembleSampling) -> Options:
    return {**member_options(recipe), **stream_options(recipe)}


def fresh_stream_options(recipe: EnsembleSampling) -> Options:
    return {**stream_options(recipe), "ageing": recipe.ageing_rate}


def is_prior_representable(run: SimulatedRun) -> bool:
    """Return True if a root of V in doubles keeps the prior lam I until the last round."""
    lam, problem = run.settings.lam, run.problem
    largest = float(np.square(problem.features).sum(axis=1).max())
    observations = float(run.settings.checkpoints[-1] + problem.warmup.size)
    played = 0.25 * observations * largest  # weights mu (1 - mu) are at most 1/4
    return lam >= MIN_PRIOR_SHARE * (lam + played)


logistic = partial(simulates, model=Logistic)


@logistic(EnsembleSampling, FINITE, LAZY, why_not_stream, why_not_stored)
def lazy_stream(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    options = {**stored_stream_options(recipe), "from_base": is_prior_representable(run)}
    return run.play("lazy_stream", *MEMBERS, **options)


logistic(EnsembleSampling, MOVING, LAZY, why_not_stream, why_not_stored)(
    plays("lazy_moving_stream", stored_stream_options, *MEMBERS, "context")
)
logistic(EnsembleSampling, FINITE, LAZY, why_not_stream, why_not_fresh)(
    plays("fresh_stream", fresh_stream_options, *DRAWS)
)
logistic(EnsembleSampling, MOVING, LAZY, why_not_stream, why_not_fresh)(
    plays("fresh_moving_stream", fresh_stream_options, *DRAWS, "context")
)

# --- Logistic models, the exact fit (newton_rounds.hpp)


class ExactKind(IntEnum):
    """Choice of an arm from theta_hat and the Hessian (`ExactKind` in newton_rounds.hpp)."""

    LAPLACE = 0
    PERTURBED_LEADER = 1
    LINEAR_LOSS = 2
    PSEUDO_REWARDS = 3
    OPTIMIST = 4
    GREEDY = 5
    MEMBERS = 6


def why_not_exact(recipe: Recipe) -> str:
    if model_of(recipe).fit != EXACT:
        return 'with Logistic() this recipe has a kernel for fit="exact" only'
    return why_not_fading(recipe)


def why_not_other_members(recipe: EnsembleSampling) -> str:
    default_laws = recipe.initial is None and recipe.reward is None
    plain = default_laws and type(recipe.member) is UniformMember
    return "" if plain else "this kernel knows default laws and the uniform rule only"


def exact_options(kind: ExactKind, recipe: Recipe) -> Options:
    model = model_of(recipe)
    return {"kind": kind.value, "link": model.code, "spread": model.spread}


def exact_kernel(kind: ExactKind, options: Callable[[Any], Options]) -> Simulate:
    """Return the exact fit; `scale` is that of perturbations, or beta of LinUCB."""

    def chosen(recipe: Recipe) -> Options:
        return exact_options(kind, recipe) | options(recipe)

    return plays("newton_rounds", chosen, *MEMBERS)


def scale_option(recipe: Any) -> Options:
    return {"scale": recipe.unit_scale}


for recipe_type, kind, options in (
    (ThompsonSampling, ExactKind.LAPLACE, scale_option),
    (PerturbedHistory, ExactKind.PERTURBED_LEADER, scale_option),
    (EVILL, ExactKind.LINEAR_LOSS, scale_option),
    (LinUCB, ExactKind.OPTIMIST, lambda recipe: {"scale": recipe.factor.base}),
    (Greedy, ExactKind.GREEDY, lambda recipe: {"scale": 0.0}),
    (EpsilonGreedy, ExactKind.GREEDY, lambda r: {**exploration_options(r), "scale": 0.0}),
):
    logistic(recipe_type, FINITE, EAGER, why_not_exact)(exact_kernel(kind, options))
logistic(EnsembleSampling, FINITE, EAGER, why_not_exact, why_not_other_members)(
    exact_kernel(ExactKind.MEMBERS, lambda recipe: {**scale_option(recipe), "size": recipe.size})
)


@logistic(KvetonPHE, FINITE, EAGER)
def pseudo_rewards(recipe: KvetonPHE, run: SimulatedRun) -> Outcome:
    basis = independent_rows(np.ascontiguousarray(run.problem.by_coordinate.T))
    options = exact_options(ExactKind.PSEUDO_REWARDS, recipe)
    return run.play("newton_rounds", *MEMBERS, **options, scale=recipe.a, basis=basis)
