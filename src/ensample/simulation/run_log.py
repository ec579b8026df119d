"""The log of simulated runs, in the schema of `Experiment.log` (docs/log.md), so that evaluation can be tried on known truths.

Arms are called by their numbers, "0", "1", ...; a decision's id is its run and round, its time as many seconds. The features of
arms that stand are not repeated in every row; of arms that change they are.
"""

import threading
from os import PathLike

from ensample.errors import InvalidArgument, PropensityError
from ensample.experiments.log.table import LOG_VERSION, Row, compact, frame_of, write_parquet
from ensample.policies.decision import Decision
from ensample.policies.policy import Policy
from ensample.problems import Problem
from ensample.simulation.live import Watch
from ensample.types import FloatArray

SECOND = 1_000_000  # microseconds


class RunLog:
    """Rows of all runs; threads may write to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[int, list[Row]] = {}
        self.lock = threading.Lock()

    def watch(self, run: int) -> Watch:
        """Where one run writes its rows."""
        mine: list[Row] = []
        with self.lock:
            self.rows[run] = mine

        def note(
            t: int,
            policy: Policy,
            problem: Problem,
            features: FloatArray | None,
            decision: Decision,
            reward: float,
        ) -> None:
            mine.append(self.row(run, policy, features, decision, reward))

        return note

    def row(
        self,
        run: int,
        policy: Policy,
        features: FloatArray | None,
        decision: Decision,
        reward: float,
    ) -> Row:
        standing = policy.arms.rows if features is None else features
        if decision.arm is None or standing is None:
            raise InvalidArgument(
                "log", policy.arms, "arms that are listed: others have no numbers to log"
            )
        names = [str(number) for number in range(len(standing))]
        known = shares_of(policy, decision, features)
        moment = (
            None
            if features is None
            else {name: {"x": row.tolist()} for name, row in zip(names, features, strict=True)}
        )
        return {
            "log_version": LOG_VERSION,
            "id": f"{run}-{decision.round}",
            "time": decision.round * SECOND,
            "experiment": f"{self.name} {run}",
            "policy_version": decision.version,
            "round": decision.round,
            "context": "{}",
            "offer": names,
            "features": None if moment is None else compact(moment),
            "action": names[decision.arm],
            "propensity": None if known is None else known[decision.arm],
            "propensities": known,
            "member": decision.member,
            "drawn": "policy",
            "floor": 0.0,
            "baseline": None,
            "share": 0.0,
            "active": True,
            "reward": float(reward),
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
        """As Parquet, run by run: complete or not at all."""
        write_parquet(frame_of([row for run in sorted(self.rows) for row in self.rows[run]]), path)


def shares_of(
    policy: Policy, decision: Decision, features: FloatArray | None
) -> list[float] | None:
    """The propensities of a decision's round; None where the recipe does not know them."""
    offer = policy.arms if features is None else policy.arms.offer(features)
    try:
        return [float(share) for share in policy._shares(decision.round, offer)]
    except PropensityError:
        return None
