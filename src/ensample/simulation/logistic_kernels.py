"""How recipes with a logistic model are told to the compiled core. Importing this fills `dispatch.KERNELS`."""

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
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import Evaluation, run, simulates
from ensample.simulation.options import ensemble_options, looks_at_all, remembers_all, why_not_fresh, why_not_stored
from ensample.simulation.state import Rngs, RunState

__all__: list[str] = []

SMALLEST_SHARE = 1e-8  # of W in V that a root in doubles keeps to eight digits


# The stream fit: cpp/simulate/lazy_stream.hpp, fresh_stream.hpp


def no_stream_law(recipe: EnsembleSampling) -> str:
    """Return why an ensemble cannot be simulated lazily, whether its members are stored or fresh."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != "stream":
        return 'only fit="stream" has a lazy law'
    if recipe.initial is not None or recipe.reward is not None:
        return "the lazy law of the stream fit is that of the default laws"
    return remembers_all(recipe) or looks_at_all(recipe)


def not_stored(recipe: EnsembleSampling) -> str:
    return no_stream_law(recipe) or why_not_stored(recipe)


def not_fresh(recipe: EnsembleSampling) -> str:
    return no_stream_law(recipe) or why_not_fresh(recipe)


def stream_options(recipe: EnsembleSampling) -> dict[str, Any]:
    """Return the options of both kinds of members."""
    assert isinstance(recipe.model, Logistic)
    return {"link": recipe.model.code, "scale": recipe.unit_scale}


def stored_options(recipe: EnsembleSampling) -> dict[str, Any]:
    told = ensemble_options(recipe)
    return {"size": told["size"], "stay": told["stay"], **stream_options(recipe)}


def has_base(problem: FiniteProblem, state: RunState) -> bool:
    """Return True if the prior is never so small beside V that a root in doubles loses it."""
    squares = float(np.square(problem.features).sum(axis=1).max())
    played = 0.25 * float(state.checkpoints[-1] + problem.warmup.size) * squares
    return float(state.prior.min()) >= SMALLEST_SHARE * (float(state.prior.max()) + played)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=not_stored, model=Logistic)
def lazy_stream(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("lazy_stream", problem, state, drawn, from_base=has_base(problem, state), **stored_options(recipe))


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=not_stored, model=Logistic)
def lazy_moving_stream(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation, rngs.context)
    run("lazy_moving_stream", problem, state, drawn, **stored_options(recipe))


@simulates(EnsembleSampling, FiniteProblem, Evaluation.LAZY, unless=not_fresh, model=Logistic)
def fresh_stream(recipe: EnsembleSampling, problem: FiniteProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation)
    run("fresh_stream", problem, state, drawn, ageing=recipe.ageing_rate, **stream_options(recipe))


@simulates(EnsembleSampling, ContextualProblem, Evaluation.LAZY, unless=not_fresh, model=Logistic)
def fresh_moving_stream(recipe: EnsembleSampling, problem: ContextualProblem, state: RunState, rngs: RunGenerators) -> None:
    drawn = Rngs(rngs.noise, perturbation=rngs.perturbation, context=rngs.context)
    run("fresh_moving_stream", problem, state, drawn, ageing=recipe.ageing_rate, **stream_options(recipe))


# The exact fit: cpp/simulate/newton_rounds.hpp


class ExactKind(IntEnum):
    """What is done with theta_hat and the Hessian."""

    LAPLACE = 0
    PERTURBED_LEADER = 1
    LINEAR_LOSS = 2
    PSEUDO_REWARDS = 3
    OPTIMIST = 4
    GREEDY = 5
    MEMBERS = 6


def not_exact(recipe: Recipe) -> str:
    """Return why it is simulated by its live policy."""
    assert isinstance(recipe.model, Logistic)
    if recipe.model.fit != EXACT:
        return 'with Logistic() this recipe has a kernel for fit="exact" only'
    return remembers_all(recipe)


def not_uniform(recipe: EnsembleSampling) -> str:
    plain = recipe.initial is None and recipe.reward is None and type(recipe.member) is UniformMember
    return not_exact(recipe) or ("" if plain else "this kernel knows default laws and the uniform rule only")


def run_exact(
    kind: ExactKind,
    scale: float,
    recipe: Recipe,
    problem: FiniteProblem,
    state: RunState,
    rngs: RunGenerators,
    **options: Any,
) -> None:
    """`scale` is that of its randomness, its radius, or a of the pseudo-rewards."""
    assert isinstance(recipe.model, Logistic)
    of_model = {"link": recipe.model.code, "spread": recipe.model.spread}
    drawn = Rngs(rngs.noise, rngs.member, rngs.perturbation)
    run("newton_rounds", problem, state, drawn, kind=kind.value, scale=scale, **of_model, **options)


@simulates(ThompsonSampling, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def laplace(recipe: ThompsonSampling, *arrays: Any) -> None:
    run_exact(ExactKind.LAPLACE, recipe.unit_scale, recipe, *arrays)


@simulates(PerturbedHistory, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def perturbed_leader(recipe: PerturbedHistory, *arrays: Any) -> None:
    run_exact(ExactKind.PERTURBED_LEADER, recipe.unit_scale, recipe, *arrays)


@simulates(EVILL, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def linear_loss(recipe: EVILL, *arrays: Any) -> None:
    run_exact(ExactKind.LINEAR_LOSS, recipe.unit_scale, recipe, *arrays)


@simulates(KvetonPHE, FiniteProblem, Evaluation.EAGER, model=Logistic)
def pseudo_rewards(recipe: KvetonPHE, problem: FiniteProblem, *others: Any) -> None:
    basis = independent_rows(np.ascontiguousarray(problem.by_coordinate.T))
    run_exact(ExactKind.PSEUDO_REWARDS, recipe.a, recipe, problem, *others, basis=basis)


@simulates(LinUCB, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def optimist(recipe: LinUCB, *arrays: Any) -> None:
    run_exact(ExactKind.OPTIMIST, recipe.factor.base, recipe, *arrays)


@simulates(Greedy, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def greedy(recipe: Greedy, *arrays: Any) -> None:
    run_exact(ExactKind.GREEDY, 0.0, recipe, *arrays)


@simulates(EpsilonGreedy, FiniteProblem, Evaluation.EAGER, unless=not_exact, model=Logistic)
def epsilon_greedy(recipe: EpsilonGreedy, *arrays: Any) -> None:
    run_exact(ExactKind.GREEDY, 0.0, recipe, *arrays, epsilon=recipe.epsilon, decay=recipe.decay or 0.0)


@simulates(EnsembleSampling, FiniteProblem, Evaluation.EAGER, unless=not_uniform, model=Logistic)
def members(recipe: EnsembleSampling, *arrays: Any) -> None:
    run_exact(ExactKind.MEMBERS, recipe.unit_scale, recipe, *arrays, size=recipe.size)
