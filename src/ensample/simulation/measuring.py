"""`theory.measure`: what the general theorem asks of a recipe, measured on its live policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from ensample.checks import instance, number, whole
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.policies.decision import LAST_ROUND
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.problems import Family, Problem, example_of, setting_of
from ensample.randomness import RunGenerators
from ensample.simulation.live import LiveRound, run_live
from ensample.simulation.plan import draw
from ensample.theory import Measurement, Setting, regret_bound
from ensample.types import FloatArray

ROUNDING = 1e-12  # by which a theta may miss the best mean and still be called optimistic


class RoundMeasurement(NamedTuple):
    """Measurement of one round."""

    error: float  # |theta_t - theta*|_V
    optimism: float  # P(max_x x'theta_t >= x*'theta* | the past)


class MeasureKeywords(TypedDict, total=False):
    """Further keyword arguments of `measure`, which describes them."""

    moments: int
    redraws: int
    progress: Callable[[int, int], None] | None


@dataclass(frozen=True)
class MeasureOptions:
    """Further keyword arguments of `measure`, with their defaults."""

    moments: int = 100
    redraws: int = 200
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        whole("moments", self.moments, 1)
        whole("redraws", self.redraws, 1)


def measure(
    recipe: Recipe,
    problem: Problem | Family,
    horizon: int,
    runs: int = 20,
    seed: int = 0,
    delta: float = 0.05,
    **options: Unpack[MeasureKeywords],
) -> Measurement:
    """Estimate gamma and p of the general theorem for any recipe, and its bound.

    The theorem: if |theta_t - theta*|_V <= gamma and P(theta_t is optimistic | the past) >= p in
    all rounds, then the regret is at most B(gamma, p) (`regret_bound`). The recipe's live policy
    plays `runs` runs of `horizon` rounds, and `moments=100` rounds are measured, evenly spaced on a
    logarithmic scale. p comes from all members, weighted as the member rule does, or from
    `redraws=200` of the model where each round has its own. Both are estimates: a p of 0 says that
    no member was optimistic in some round, not that none could have been, and rounds that were not
    measured may have been worse.

    Any recipe will do whose model has `estimates`, also one's own. `gram` is the model's, or lam I
    + sum x x' where it has none. The problem must be linear. `progress` is called with the number
    of finished runs and of all.

    >>> import ensample as es
    >>> problem = es.problem("sphere", dim=3, arms=10)
    >>> found = es.theory.measure(es.LinUCB(2.0), problem, horizon=200, runs=3)
    >>> found.p, 2.0 <= found.gamma <= 4.0, found.regret < found.bound
    (1.0, True, True)

    Reference: Lee & Oh 2024, "General regret bound for linear bandit algorithm".
    """
    instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling(size=100)")
    if not isinstance(problem, Problem | Family):
        raise WrongType("problem", problem, "a LinearProblem or a family such as problem('sphere')")
    require_linear(example_of(problem))
    if recipe.intercept:
        expected = "one without an intercept, which the theorem knows nothing of"
        raise InvalidArgument("recipe", recipe, expected)
    horizon, runs = whole("horizon", horizon, 1), whole("runs", runs, 1)
    seed, chosen = whole("seed", seed, 0), MeasureOptions(**options)
    require_estimates(recipe, problem)
    setting = setting_of(problem, horizon, recipe.lam, number("delta", delta, most=1.0, above=0.0))
    rounds = np.geomspace(1, horizon, min(chosen.moments, horizon)).round().astype(np.int64) - 1
    generators, end, stop = RunGenerators(seed, 0), np.array([horizon]), np.zeros(1, np.int64)
    measured, regrets = [], []
    for r in range(runs):
        generators.move(r)
        drawn = draw(problem, generators)
        meter = Meter(set(rounds.tolist()), chosen.redraws)
        regret, _ = run_live(recipe, drawn, end, generators, stop, meter)
        regrets.append(float(regret[-1]))
        measured.append(np.array(meter.found))  # [moments, 2]
        if chosen.progress is not None:
            chosen.progress(r + 1, runs)
    return summary(measured, regrets, setting)


class Meter:
    """Measures some rounds of a run, after the decision and before the reward is learned."""

    def __init__(self, rounds: set[int], redraws: int) -> None:
        self.rounds, self.redraws = rounds, redraws
        self.found: list[RoundMeasurement] = []
        self.played: list[FloatArray] = []

    def __call__(self, now: LiveRound) -> None:
        if now.t in self.rounds:
            self.found.append(self.measured(now))
        self.played.append(now.decision.features)

    def measured(self, now: LiveRound) -> RoundMeasurement:
        model, round = now.policy.model, now.decision.round
        thetas = estimates(now.policy, round)  # [m, d], or the round's own
        acting = thetas[0 if model.size is None else now.decision.member]
        if model.size is None:  # redraw, with rounds far from any that will be played
            first = LAST_ROUND // 2 + round * self.redraws
            draws = [estimates(now.policy, first + k) for k in range(self.redraws)]
            thetas = np.vstack(draws)
        arms = now.policy.arms
        offer = arms if now.features is None else arms.offer(now.features)
        rows = offer.rows
        best = offer.promises(thetas) if rows is None else (thetas @ rows.T).max(axis=1)
        weights = np.ones(len(thetas))
        if model.size is not None and model.rule is not None:
            weights = np.asarray(model.rule.weights(round, model.size, lambda: best))
        optimistic = best >= now.problem.best_mean(now.features) - ROUNDING
        gap = acting - now.problem.theta
        error = float(np.sqrt(gap @ self.gram(now.policy) @ gap))
        return RoundMeasurement(error, float(weights @ optimistic / weights.sum()))

    def gram(self, policy: Policy) -> FloatArray:
        try:
            return policy.model.gram
        except AttributeError:
            X = np.array(self.played).reshape(-1, policy.arms.dim)
            return np.asarray(policy.recipe.lam * np.eye(policy.arms.dim) + X.T @ X)


def estimates(policy: Policy, round: int) -> FloatArray:
    """Return theta^j of every member, or the round's: [m, d]."""
    model = policy.model
    try:
        found = model.at(round).estimates(round)
    except AttributeError:
        lacks = f"{type(model).__name__} has none"
        expected = f"one whose model has `estimates`, theta^j of each member; {lacks}"
        raise InvalidArgument("recipe", policy.recipe, expected) from None
    return found


def require_estimates(recipe: Recipe, problem: Problem | Family) -> None:
    """Raise before anything is played unless the model has what is measured."""
    estimates(recipe.start(example_of(problem).arms, seed=0), 0)


def require_linear(problem: Problem) -> None:
    """Raise unless means are x'theta, with one theta."""
    if type(problem).mean is not Problem.mean:
        expected = "a linear problem: means x'theta, which the theorem is about"
        raise InvalidArgument("problem", problem, expected)
    if problem.moves:
        expected = "one theta for all rounds, which the theorem is about"
        raise InvalidArgument("problem", problem, expected)


def summary(measured: list[FloatArray], regrets: list[float], setting: Setting) -> Measurement:
    """Return quantiles at delta over runs, each of the worst round, and medians over all rounds."""
    errors, optimism = [run[:, 0].max() for run in measured], [run[:, 1].min() for run in measured]
    gamma = float(np.quantile(errors, 1.0 - setting.delta, method="higher"))
    p = float(np.quantile(optimism, setting.delta, method="lower"))
    try:
        bound = regret_bound(gamma, p, setting) if p > 0.0 else np.inf
    except AssumptionError:
        bound = None
    error, share = np.median(np.vstack(measured), axis=0).tolist()
    regret = float(np.mean(regrets))
    return Measurement(gamma, p, error, share, bound, regret, setting, len(measured))
