"""Kernels of the core for recipes with a logistic model.

Importing this module registers them in `dispatch.KERNELS`.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from ensample.member_rules import UniformMember
from ensample.models import Logistic
from ensample.models.glm import EXACT
from ensample.policies import (
    EVILL,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    KvetonPHE,
    LinUCB,
    PerturbedHistory,
    Recipe,
    ThompsonSampling,
)
from ensample.policies.kveton_phe import independent_rows
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import Evaluation, Outcome, SimulatedRun, simulates
from ensample.simulation.options import (
    Options,
    member_options,
    why_not_fading,
    why_not_fresh,
    why_not_lazy,
    why_not_stored,
)

MIN_PRIOR_SHARE = 1e-8  # of the prior in V: a root of V in doubles keeps eight digits of it

MEMBERS = ("member", "perturbation")  # streams of kernels with members

lazy = partial(simulates, evaluation=Evaluation.LAZY, model=Logistic)
eager = partial(simulates, evaluation=Evaluation.EAGER, model=Logistic)


def model_of(recipe: Recipe) -> Logistic:
    assert isinstance(recipe.model, Logistic)  # by the registry
    return recipe.model


# The stream fit: lazy.hpp, history.hpp


def why_not_stream(recipe: EnsembleSampling) -> str:
    """Return why an ensemble, stored or fresh, cannot be simulated lazily."""
    if model_of(recipe).fit != "stream":
        return 'only fit="stream" has a lazy law'
    if recipe.initial is not None or recipe.reward is not None:
        return "the lazy law of the stream fit is that of the default laws"
    return why_not_fading(recipe) or why_not_lazy(recipe)


def why_not_lazy_stream(recipe: EnsembleSampling) -> str:
    return why_not_stream(recipe) or why_not_stored(recipe)


def why_not_fresh_stream(recipe: EnsembleSampling) -> str:
    return why_not_stream(recipe) or why_not_fresh(recipe)


def stored_options(recipe: EnsembleSampling) -> Options:
    link = {"link": model_of(recipe).code, "scale": recipe.unit_scale}
    return {**member_options(recipe), **link}


def fresh_options(recipe: EnsembleSampling) -> Options:
    link = {"link": model_of(recipe).code, "scale": recipe.unit_scale}
    return {**link, "ageing": recipe.ageing_rate}


def is_prior_representable(run: SimulatedRun) -> bool:
    """Return True if a root of V in doubles keeps the prior lam I until the last round."""
    lam, problem = run.settings.lam, run.problem
    largest = float(np.square(problem.features).sum(axis=1).max())
    observations = float(run.settings.checkpoints[-1] + problem.warmup.size)
    played = 0.25 * observations * largest  # weights mu (1 - mu) are at most 1/4
    return lam >= MIN_PRIOR_SHARE * (lam + played)


@lazy(EnsembleSampling, FiniteProblem, unless=why_not_lazy_stream)
def lazy_stream(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    options = {**stored_options(recipe), "from_base": is_prior_representable(run)}
    return run.play("lazy_stream", *MEMBERS, **options)


@lazy(EnsembleSampling, ContextualProblem, unless=why_not_lazy_stream)
def lazy_moving_stream(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("lazy_moving_stream", *MEMBERS, "context", **stored_options(recipe))


@lazy(EnsembleSampling, FiniteProblem, unless=why_not_fresh_stream)
def fresh_stream(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("fresh_stream", "perturbation", **fresh_options(recipe))


@lazy(EnsembleSampling, ContextualProblem, unless=why_not_fresh_stream)
def fresh_moving_stream(recipe: EnsembleSampling, run: SimulatedRun) -> Outcome:
    return run.play("fresh_moving_stream", "perturbation", "context", **fresh_options(recipe))


# The exact fit: newton_rounds.hpp


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
    """Return why the kernel of the exact fit cannot run a recipe; empty if it can."""
    if model_of(recipe).fit != EXACT:
        return 'with Logistic() this recipe has a kernel for fit="exact" only'
    return why_not_fading(recipe)


def why_not_exact_members(recipe: EnsembleSampling) -> str:
    default_laws = recipe.initial is None and recipe.reward is None
    plain = default_laws and type(recipe.member) is UniformMember
    reason = "this kernel knows default laws and the uniform rule only"
    return why_not_exact(recipe) or ("" if plain else reason)


def exact(
    recipe: type[Recipe],
    kind: ExactKind,
    options: Callable[[Any], Options],
    unless: Callable[[Any], str] = why_not_exact,
) -> None:
    """Register the kernel of the exact fit for a type of recipe.

    In its options `scale` is that of perturbations, beta of LinUCB, or a of pseudo-rewards.
    """

    @eager(recipe, FiniteProblem, unless=unless)
    def simulate(recipe: Recipe, run: SimulatedRun) -> Outcome:
        model = model_of(recipe)
        link = {"link": model.code, "spread": model.spread}
        return run.play("newton_rounds", *MEMBERS, kind=kind.value, **link, **options(recipe))


def scale_of(recipe: ThompsonSampling | PerturbedHistory | EVILL) -> Options:
    return {"scale": recipe.unit_scale}


def exploration_of(recipe: EpsilonGreedy) -> Options:
    return {"scale": 0.0, "epsilon": recipe.epsilon, "decay": recipe.decay or 0.0}


exact(ThompsonSampling, ExactKind.LAPLACE, scale_of)
exact(PerturbedHistory, ExactKind.PERTURBED_LEADER, scale_of)
exact(EVILL, ExactKind.LINEAR_LOSS, scale_of)
exact(LinUCB, ExactKind.OPTIMIST, lambda recipe: {"scale": recipe.factor.base})
exact(Greedy, ExactKind.GREEDY, lambda recipe: {"scale": 0.0})
exact(EpsilonGreedy, ExactKind.GREEDY, exploration_of)
exact(
    EnsembleSampling,
    ExactKind.MEMBERS,
    lambda recipe: {"scale": recipe.unit_scale, "size": recipe.size},
    unless=why_not_exact_members,
)


@eager(KvetonPHE, FiniteProblem)
def pseudo_rewards(recipe: KvetonPHE, run: SimulatedRun) -> Outcome:
    model = model_of(recipe)
    basis = independent_rows(np.ascontiguousarray(run.problem.by_coordinate.T))
    link = {"link": model.code, "spread": model.spread}
    kind = ExactKind.PSEUDO_REWARDS.value
    return run.play("newton_rounds", *MEMBERS, kind=kind, scale=recipe.a, basis=basis, **link)
