"""Simulation by the live policy, and the log of its decisions.

The log has the schema of `Experiment.log` (docs/log.md), so that evaluation can be tried on known
truths. Arms are called by their numbers, "0", "1", ...; a decision's id is its run and round, its
time as many seconds. Features are in the rows only of arms that change.
"""

import threading
from collections.abc import Callable
from os import PathLike
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.errors import InvalidArgument, PropensityError
from ensample.experiments.log.table import LOG_VERSION, Row, compact, frame_of, write_parquet
from ensample.policies import Decision, Policy
from ensample.policies.recipe import Recipe
from ensample.problems import LinearProblem, Problem
from ensample.randomness import RunGenerators
from ensample.types import FloatArray, IntArray

SECOND = 1_000_000  # microseconds


class LiveRound(NamedTuple):
    """A round of a live policy, before its reward is learned."""

    t: int
    policy: Policy
    problem: Problem  # of this round
    features: FloatArray | None  # of arms that change
    decision: Decision
    reward: float


Watch = Callable[[LiveRound], None]


def run_live(
    recipe: Recipe,
    problem: Problem,
    checkpoints: IntArray,
    generators: RunGenerators,
    stop: IntArray,
    watch: Watch | None = None,
    played: Callable[[int], None] | None = None,
) -> tuple[FloatArray, IntArray | None]:
    """Return the regret at the checkpoints, and the pulls where arms are numbered.

    The policy's seed comes from the perturbations' stream. `played` is called a hundred times in a
    run, with the number of rounds since the last call.
    """
    policy = recipe.start(problem.arms, int(generators.perturbation.integers(1 << 62)))
    standing = problem.arms if isinstance(problem.arms, FiniteArms) else None
    pulls = None if standing is None else np.zeros(len(standing), np.int64)
    opening: list[int] = []
    if isinstance(problem, LinearProblem):
        opening = problem.opening.tolist()
        for number, x in problem.numbered_warmup():
            policy.update(x if number is None else number, problem.reward(x, generators.noise))
    regret, recorded, place = 0.0, np.full(checkpoints.size, np.nan), 0
    horizon, reported = int(checkpoints[-1]), 0
    for t in range(horizon):
        if stop[0]:
            break
        now = problem.at(t)
        offered = now.offer(generators.context)
        if standing is not None and t < len(opening):
            arm: int | None = opening[t]
            x = standing.features[opening[t]]
            policy.update(opening[t], now.reward(x, generators.noise))
        else:
            decision = policy.decide(offered)
            arm, x = decision.arm, decision.features
            reward = now.reward(x, generators.noise)
            if watch is not None:
                watch(LiveRound(t, policy, now, offered, decision, reward))
            policy.update(decision, reward)
        regret += now.best_mean(offered) - now.mean(x)
        if pulls is not None:
            pulls[arm] += 1
        if t + 1 == checkpoints[place]:
            recorded[place] = regret
            place += 1
        if played is not None and (t + 1 == horizon or t + 1 - reported >= horizon // 100 + 1):
            played(t + 1 - reported)
            reported = t + 1
    return recorded, pulls


class RunLog:
    """Rows of all runs; threads may write to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[int, list[Row]] = {}
        self.lock = threading.Lock()

    def watch(self, run: int) -> Watch:
        """Return a function that adds the rows of one run."""
        rows: list[Row] = []
        with self.lock:
            self.rows[run] = rows

        def add(now: LiveRound) -> None:
            rows.append(self.row(run, now))

        return add

    def row(self, run: int, now: LiveRound) -> Row:
        policy, features, decision = now.policy, now.features, now.decision
        listed = policy.arms.rows if features is None else features
        if decision.arm is None or listed is None:
            expected = "arms that are listed: others have no numbers to log"
            raise InvalidArgument("log", policy.arms, expected)
        names = [str(number) for number in range(len(listed))]
        propensities = propensities_of(policy, decision, features)
        by_arm = None
        if features is not None:
            by_arm = {name: {"x": x.tolist()} for name, x in zip(names, features, strict=True)}
        return {
            "log_version": LOG_VERSION,
            "id": f"{run}-{decision.round}",
            "time": decision.round * SECOND,
            "experiment": f"{self.name} {run}",
            "policy_version": decision.version,
            "round": decision.round,
            "context": "{}",
            "offer": names,
            "features": None if by_arm is None else compact(by_arm),
            "action": names[decision.arm],
            "propensity": None if propensities is None else propensities[decision.arm],
            "propensities": propensities,
            "member": decision.member,
            "drawn": "policy",
            "floor": 0.0,
            "baseline": None,
            "share": 0.0,
            "active": True,
            "reward": float(now.reward),
            "outcome": "applied",
            "reward_time": decision.round * SECOND,
            "duplicate": 0,
            "late": 0,
            "not_shown": 0,
            "reward_low": None,
            "reward_high": None,
            "late_rewards": [],
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write Parquet, run by run: complete or not at all."""
        write_parquet(frame_of([row for run in sorted(self.rows) for row in self.rows[run]]), path)


def propensities_of(
    policy: Policy, decision: Decision, features: FloatArray | None
) -> list[float] | None:
    """Return the propensities of a decision's round; None where the recipe does not know them."""
    try:
        return [float(share) for share in policy.propensities(features, round=decision.round)]
    except PropensityError:
        return None
