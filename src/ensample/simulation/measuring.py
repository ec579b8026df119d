"""`theory.measure`: the general theorem as an instrument. It plays live policies, so it is at home here, above them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ensample.arms import Offer
from ensample.checks import instance, number, whole
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.policies.decision import LAST_ROUND, Decision
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.problems import Family, Problem, example_of, setting_of
from ensample.randomness import RunGenerators
from ensample.simulation.live import run_live
from ensample.theory import Measurement, Setting, regret_bound
from ensample.types import FloatArray

ROUNDING = 1e-12  # by which a promise may miss the best mean and still be called optimistic


class RoundLook(NamedTuple):
    """What one round says."""

    error: float  # |theta_t - theta*|_V
    optimism: float  # P(max_x x'theta_t >= x*'theta* | the past)


def measure(
    recipe: Recipe,
    problem: Problem | Family,
    horizon: int,
    runs: int = 20,
    seed: int = 0,
    delta: float = 0.05,
    moments: int = 100,
    redraws: int = 200,
    progress: Callable[[int, int], None] | None = None,
) -> Measurement:
    """Estimate gamma and p of the general theorem for any recipe, and what `regret_bound` then says.

    The theorem: if |theta_t - theta*|_V <= gamma and P(theta_t is optimistic | the past) >= p in all rounds, then the regret is
    at most B(gamma, p). The recipe's live policy plays `runs` runs of `horizon` rounds and is looked at in `moments` rounds,
    evenly spaced on a logarithmic scale. p comes from all members, weighted as the member rule does, or from `redraws` of the
    model where each round has its own. Both are estimates: a p of 0 says that no member was optimistic in some round, not that
    none could have been, and rounds that were not looked at may have been worse.

    Any recipe whose model has `estimates`, also one's own. `gram` is the model's, or lam I + sum x x' where it has none. The
    problem must be linear. `progress` is called with the number of finished runs and of all.

    >>> import ensample as es
    >>> found = es.theory.measure(es.LinUCB(2.0), es.problem("sphere", dim=3, arms=10), horizon=200, runs=3)
    >>> found.p, 2.0 <= found.gamma <= 4.0, found.regret < found.bound
    (1.0, True, True)

    Reference: Lee & Oh 2024, "General regret bound for linear bandit algorithm".
    """
    instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling(size=100)")
    if not isinstance(problem, Problem | Family):
        raise WrongType("problem", problem, "a LinearProblem or a family such as problem('sphere')")
    require_linear(example_of(problem))
    if recipe.intercept:
        raise InvalidArgument(
            "recipe", recipe, "one without an intercept, which the theorem knows nothing of"
        )
    horizon, runs, seed = (
        whole("horizon", horizon, 1),
        whole("runs", runs, 1),
        whole("seed", seed, 0),
    )
    moments, redraws = whole("moments", moments, 1), whole("redraws", redraws, 1)
    require_estimates(recipe, problem)
    setting = setting_of(problem, horizon, recipe.lam, number("delta", delta, most=1.0, above=0.0))
    marked = np.unique(np.geomspace(1, horizon, min(moments, horizon)).round().astype(np.int64)) - 1
    rngs, looks, regrets = RunGenerators(seed, 0), [], []
    for r in range(runs):
        rngs.move(r)
        drawn = problem.draw(rngs.problem) if isinstance(problem, Family) else problem
        watched = Watched(set(marked.tolist()), redraws)
        end = np.array([horizon], np.int64)
        regret, _ = run_live(recipe, drawn, end, rngs, np.zeros(1, np.int64), watched)
        regrets.append(float(regret[-1]))
        looks.append(np.array(watched.looks))  # [moments, 2]
        if progress is not None:
            progress(r + 1, runs)
    return summary(looks, regrets, setting)


class Watched:
    """Looks at a policy in some rounds of a run, after its decision and before the reward."""

    def __init__(self, rounds: set[int], redraws: int) -> None:
        self.rounds, self.redraws = rounds, redraws
        self.looks: list[RoundLook] = []
        self.played: list[FloatArray] = []

    def __call__(
        self,
        t: int,
        policy: Policy,
        problem: Problem,
        offered: FloatArray | None,
        decision: Decision,
        reward: float,
    ) -> None:
        if t in self.rounds:
            self.looks.append(self.look(policy, problem, offered, decision))
        self.played.append(decision.features)

    def look(
        self, policy: Policy, problem: Problem, offered: FloatArray | None, decision: Decision
    ) -> RoundLook:
        model, round = policy.model, decision.round
        thetas = estimates(policy, round)  # [m, d], or the round's own
        acting = thetas[0 if model.size is None else decision.member]
        if model.size is None:  # far from any round that will be played
            first = LAST_ROUND // 2 + round * self.redraws
            thetas = np.vstack([estimates(policy, first + k) for k in range(self.redraws)])
        offer = policy.arms if offered is None else policy.arms.offer(offered)
        promised = promises(offer, thetas)
        weights = np.ones(len(thetas))
        if model.size is not None and model.rule is not None:
            weights = np.asarray(model.rule.weights(round, model.size, lambda: promised))
        optimistic = promised >= problem.best_mean(offered) - ROUNDING
        gap = acting - problem.theta
        return RoundLook(
            float(np.sqrt(gap @ self.gram(policy) @ gap)),
            float(weights @ optimistic / weights.sum()),
        )

    def gram(self, policy: Policy) -> FloatArray:
        try:
            return policy.model.gram
        except AttributeError:
            X = np.array(self.played).reshape(-1, policy.arms.dim)
            return np.asarray(policy.recipe.lam * np.eye(policy.arms.dim) + X.T @ X)


def estimates(policy: Policy, round: int) -> FloatArray:
    """theta^j of every member, or the round's: [m, d]."""
    try:
        found = policy.model.at(round).estimates(round)
    except AttributeError:
        expected = f"one whose model has `estimates`, theta^j of each member; {type(policy.model).__name__} has none"
        raise InvalidArgument("recipe", policy.recipe, expected) from None
    return found


def require_estimates(recipe: Recipe, problem: Problem | Family) -> None:
    """Raise before anything is played unless the model has what is measured."""
    estimates(recipe.start(example_of(problem).arms, seed=0), 0)


def promises(offer: Offer, thetas: FloatArray) -> FloatArray:
    """max_x x'theta of each: [m]."""
    return (
        offer.promises(thetas)
        if offer.rows is None
        else np.asarray((thetas @ offer.rows.T).max(axis=1))
    )


def require_linear(problem: Problem) -> None:
    """Raise unless means are x'theta, with one theta."""
    if type(problem).mean is not Problem.mean:
        raise InvalidArgument(
            "problem", problem, "a linear problem: means x'theta, which the theorem is about"
        )
    if problem.moves:
        raise InvalidArgument(
            "problem", problem, "one theta for all rounds, which the theorem is about"
        )


def summary(looks: list[FloatArray], regrets: list[float], setting: Setting) -> Measurement:
    """Over runs the quantiles at delta, each of the worst round; over all rounds the medians."""
    worst, least = [run[:, 0].max() for run in looks], [run[:, 1].min() for run in looks]
    gamma = float(np.quantile(worst, 1.0 - setting.delta, method="higher"))
    p = float(np.quantile(least, setting.delta, method="lower"))
    bound: float | None
    try:
        bound = regret_bound(gamma, p, setting) if p > 0.0 else np.inf
    except AssumptionError:
        bound = None
    error, optimism = np.median(np.vstack(looks), axis=0).tolist()
    return Measurement(
        gamma, p, error, optimism, bound, float(np.mean(regrets)), setting, len(looks)
    )
