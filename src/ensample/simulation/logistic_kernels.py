"""Kernels of the core for recipes with a logistic model.

Importing this module registers them in `dispatch.KERNELS`.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from ensample.members import UniformMember
from ensample.models import Logistic
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
from ensample.policies.generalized import EXACT
from ensample.policies.kveton_phe import independent_rows
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import ContextualRun, Evaluation, FiniteRun, simulates
from ensample.simulation.options import (
    ensemble_options,
    why_not_fading,
    why_not_fresh,
    why_not_lazy,
    why_not_stored,
)

__all__: list[str] = []

MIN_PRIOR_SHARE = 1e-8  # of the prior in V: a root of V in doubles keeps eight digits of it


# The stream fit: cpp/simulate/lazy_stream.hpp, fresh_stream.hpp


def why_not_stream(recipe: EnsembleSampling) -> str:
    """Return why an ensemble cannot be simulated lazily, whether its members are stored or fresh."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != "stream":
        return 'only fit="stream" has a lazy law'
    if recipe.initial is not None or recipe.reward is not None:
        return "the lazy law of the stream fit is that of the default laws"
    return why_not_fading(recipe) or why_not_lazy(recipe)


def why_not_lazy_stream(recipe: EnsembleSampling) -> str:
    return why_not_stream(recipe) or why_not_stored(recipe)


def why_not_fresh_stream(recipe: EnsembleSampling) -> str:
    return why_not_stream(recipe) or why_not_fresh(recipe)


def stream_options(recipe: EnsembleSampling) -> dict[str, Any]:
    """Return the options that stored and fresh members share."""
    assert isinstance(recipe.model, Logistic)
    return {"link": recipe.model.code, "scale": recipe.unit_scale}


def stored_options(recipe: EnsembleSampling) -> dict[str, Any]:
    options = ensemble_options(recipe)
    return {"size": options["size"], "stay": options["stay"], **stream_options(recipe)}


def is_prior_representable(run: FiniteRun) -> bool:
    """Return True if a root of V in doubles keeps the prior until the last round."""
    problem, state = run.problem, run.state
    largest = float(np.square(problem.features).sum(axis=1).max())
    observations = float(state.checkpoints[-1] + problem.warmup.size)
    played = 0.25 * observations * largest  # weights mu (1 - mu) are at most 1/4
    return float(state.prior.min()) >= MIN_PRIOR_SHARE * (float(state.prior.max()) + played)


@simulates(
    EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=why_not_lazy_stream, model=Logistic
)
def lazy_stream(recipe: EnsembleSampling, run: FiniteRun) -> None:
    from_base = is_prior_representable(run)
    run.play("lazy_stream", "member", "perturbation", from_base=from_base, **stored_options(recipe))


@simulates(
    EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=why_not_lazy_stream, model=Logistic
)
def lazy_moving_stream(recipe: EnsembleSampling, run: ContextualRun) -> None:
    run.play("lazy_moving_stream", "member", "perturbation", "context", **stored_options(recipe))


@simulates(
    EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=why_not_fresh_stream, model=Logistic
)
def fresh_stream(recipe: EnsembleSampling, run: FiniteRun) -> None:
    run.play("fresh_stream", "perturbation", ageing=recipe.ageing_rate, **stream_options(recipe))


@simulates(
    EnsembleSampling,
    ContextualProblem,
    Evaluation.LAZY,
    unless=why_not_fresh_stream,
    model=Logistic,
)
def fresh_moving_stream(recipe: EnsembleSampling, run: ContextualRun) -> None:
    run.play(
        "fresh_moving_stream",
        "perturbation",
        "context",
        ageing=recipe.ageing_rate,
        **stream_options(recipe),
    )


# The exact fit: cpp/simulate/newton_rounds.hpp


class ExactKind(IntEnum):
    """Choice of an arm from theta_hat and the Hessian (`ExactKind` in cpp/simulate/newton_rounds.hpp)."""

    LAPLACE = 0
    PERTURBED_LEADER = 1
    LINEAR_LOSS = 2
    PSEUDO_REWARDS = 3
    OPTIMIST = 4
    GREEDY = 5
    MEMBERS = 6


def why_not_exact(recipe: Recipe) -> str:
    """Return why the kernel of the exact fit cannot run a recipe; empty if it can."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != EXACT:
        return 'with Logistic() this recipe has a kernel for fit="exact" only'
    return why_not_fading(recipe)


def why_not_exact_members(recipe: EnsembleSampling) -> str:
    plain = (
        recipe.initial is None and recipe.reward is None and type(recipe.member) is UniformMember
    )
    return why_not_exact(recipe) or (
        "" if plain else "this kernel knows default laws and the uniform rule only"
    )


def play_exact(
    kind: ExactKind, scale: float, recipe: Recipe, run: FiniteRun, **options: Any
) -> None:
    """Simulate the exact fit.

    `scale` is that of perturbations, beta of LinUCB, or a of pseudo-rewards.
    """
    assert isinstance(recipe.model, Logistic)
    link = {"link": recipe.model.code, "spread": recipe.model.spread}
    run.play(
        "newton_rounds", "member", "perturbation", kind=kind.value, scale=scale, **link, **options
    )


@simulates(ThompsonSampling, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def laplace(recipe: ThompsonSampling, run: FiniteRun) -> None:
    play_exact(ExactKind.LAPLACE, recipe.unit_scale, recipe, run)


@simulates(PerturbedHistory, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def perturbed_leader(recipe: PerturbedHistory, run: FiniteRun) -> None:
    play_exact(ExactKind.PERTURBED_LEADER, recipe.unit_scale, recipe, run)


@simulates(EVILL, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def linear_loss(recipe: EVILL, run: FiniteRun) -> None:
    play_exact(ExactKind.LINEAR_LOSS, recipe.unit_scale, recipe, run)


@simulates(KvetonPHE, FiniteProblem, Evaluation.EAGER, model=Logistic)
def pseudo_rewards(recipe: KvetonPHE, run: FiniteRun) -> None:
    basis = independent_rows(np.ascontiguousarray(run.problem.by_coordinate.T))
    play_exact(ExactKind.PSEUDO_REWARDS, recipe.a, recipe, run, basis=basis)


@simulates(LinUCB, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def optimist(recipe: LinUCB, run: FiniteRun) -> None:
    play_exact(ExactKind.OPTIMIST, recipe.factor.base, recipe, run)


@simulates(Greedy, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def greedy(recipe: Greedy, run: FiniteRun) -> None:
    play_exact(ExactKind.GREEDY, 0.0, recipe, run)


@simulates(EpsilonGreedy, FiniteProblem, Evaluation.EAGER, unless=why_not_exact, model=Logistic)
def epsilon_greedy(recipe: EpsilonGreedy, run: FiniteRun) -> None:
    play_exact(
        ExactKind.GREEDY, 0.0, recipe, run, epsilon=recipe.epsilon, decay=recipe.decay or 0.0
    )


@simulates(
    EnsembleSampling, FiniteProblem, Evaluation.EAGER, unless=why_not_exact_members, model=Logistic
)
def members(recipe: EnsembleSampling, run: FiniteRun) -> None:
    play_exact(ExactKind.MEMBERS, recipe.unit_scale, recipe, run, size=recipe.size)
