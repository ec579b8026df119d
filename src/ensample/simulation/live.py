"""A replicate by the live policy itself: any recipe, any arms, at Python's pace."""

from collections.abc import Callable

import numpy as np

from ensample.arms import FiniteArms
from ensample.policies import Decision, Policy
from ensample.policies.recipe import Recipe
from ensample.problems import LinearProblem, Problem
from ensample.randomness import RunGenerators
from ensample.types import FloatArray, IntArray

Watch = Callable[[int, Policy, Problem, FloatArray | None, Decision, float], None]
"""Is shown (round, policy, the round's problem, its arms, decision, reward) of every decision, before the reward is learned."""


def run_live(
    recipe: Recipe,
    problem: Problem,
    marks: IntArray,
    rngs: RunGenerators,
    stop: IntArray,
    watch: Watch | None = None,
    played: Callable[[int], None] | None = None,
) -> tuple[FloatArray, IntArray | None]:
    """(regret at the checkpoints, pulls); the policy's seed comes from the perturbations' stream.

    `played` is told of rounds that were played since it was told last: a hundred times in a run.
    """
    policy = recipe.start(problem.arms, int(rngs.perturbation.integers(1 << 62)))
    pulls = np.zeros(len(problem.arms), np.int64) if isinstance(problem.arms, FiniteArms) else None
    opening: list[int] = []
    if isinstance(problem, LinearProblem):
        opening = problem.opening.tolist()
        for number, x in problem.numbered_warmup():
            policy.update(x if number is None else number, problem.reward(x, rngs.noise))
    regret, record, place = 0.0, np.full(marks.size, np.nan), 0
    horizon, told = int(marks[-1]), 0
    for t in range(horizon):
        if stop[0]:
            break
        now = problem.at(t)
        offered = now.offer(rngs.context)
        if t < len(opening) and isinstance(problem.arms, FiniteArms):
            arm: int | None = opening[t]
            x = problem.arms.features[opening[t]]
            policy.update(opening[t], now.reward(x, rngs.noise))
        else:
            decision = policy.decide(offered)
            arm, x = decision.arm, decision.features
            reward = now.reward(x, rngs.noise)
            if watch is not None:
                watch(t, policy, now, offered, decision, reward)
            policy.update(decision, reward)
        regret += now.best_mean(offered) - now.mean(x)
        if pulls is not None:
            pulls[arm] += 1
        if t + 1 == marks[place]:
            record[place] = regret
            place += 1
        if played is not None and (t + 1 == horizon or t + 1 - told >= horizon // 100 + 1):
            played(t + 1 - told)
            told = t + 1
    return record, pulls
