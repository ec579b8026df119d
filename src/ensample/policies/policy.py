"""What every policy does: number its rounds, keep its open decisions, take in rewards, remember its log."""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, FiniteArms
from ensample.checks import boolean, instance, number, sequence, vector, whole
from ensample.errors import AssumptionError, DecisionError, InvalidArgument, PropensityError, WrongType
from ensample.kernels import ridge
from ensample.policies.decision import Decision, Log
from ensample.policies.diagnostics import Diagnostics, diagnose
from ensample.policies.recipe import Recipe
from ensample.policies.ridge import Ridge
from ensample.policies.snapshot import save
from ensample.randomness import Address
from ensample.theory import Setting
from ensample.types import ArrayLike, FloatArray, IntArray

__all__ = ["Policy"]

UNKNOWN = -1  # the version of a decision taken before a snapshot
UNNUMBERED = -1  # in the log: features that are no row of the standing arms


class Policy(ABC):
    """A recipe at work.

    What it has learned is a fold over its log of (round, features, reward), in the order of the updates; what is drawn for a
    round depends on (seed, round) only. Rewards may come late, in any order and many at a time. Two orders of the same rewards
    give the same model but for the rounding of sums. One thread at a time: a policy has no lock.
    """

    def __init__(self, recipe: Recipe, arms: Arms, seed: int) -> None:
        recipe.check(arms)
        self.recipe = recipe
        self.arms = arms
        self._address = Address(seed)
        self._ridge = Ridge(arms.dim, recipe.regularization)
        self._round = 0
        self._open: dict[int, Decision] = {}
        self._log_rounds = array("q")
        self._log_arms = array("q")  # a standing arm, or UNNUMBERED with its features in _log_others
        self._log_others = array("d")
        self._log_rewards = array("d")
        self._numbers = number_rows(arms)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recipe!r}, {self.arms!r}, seed={self.seed}, round={self.round})"

    @property
    def seed(self) -> int:
        return self._address.seed

    @property
    def round(self) -> int:
        """The number of rounds begun, which is the index of the next."""
        return self._round

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return len(self._log_rounds)

    @property
    def mean(self) -> FloatArray:
        """theta_hat, the ridge estimate from the real rewards: [d]."""
        return self._ridge.mean.copy()

    @property
    def gram(self) -> FloatArray:
        """V = lam I + sum x x': [d, d]."""
        return self._ridge.gram.copy()

    @property
    @abstractmethod
    def estimates(self) -> FloatArray:
        """theta^j of every member: [m, d]."""

    @property
    def inflation(self) -> float:
        """What multiplies the perturbations when choosing: 1 where the scale is in the perturbations themselves."""
        return 1.0

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that wait for their reward, the oldest first."""
        return list(self._open.values())

    def decide(self, features: ArrayLike | None = None, *, propensity: bool = False) -> Decision:
        """Choose an arm for the next round: among the rows of `features` where they are given."""
        offered = self.arms if features is None else self._offer(features)
        round = self._round
        weights = self._weights(round, offered) if propensity is not False and boolean("propensity", propensity) else None
        member, arm, x = self._choose(round, offered)
        decision = Decision(self, len(self._log_rounds), offered, round, member, arm, x)
        if weights is not None:
            decision._propensity = float(weights[arm])
        self._open[round] = decision
        self._round = round + 1
        return decision

    def update(self, decision: "Decision | int | ArrayLike", reward: float) -> None:
        """Learn the reward of a decision.

        An arm's index stands for the oldest open decision for that standing arm. Where there is none, and for a vector of
        features, it is an observation of its own, which takes the next round.
        """
        y = number("reward", reward)
        round, x = self._resolve(decision, self._round, ())
        try:
            self._settle(self._learn(round, x, y))
            self._record(round, x, y)
        except BaseException:  # Ctrl-C may come between two of these; what the kernel has learned is carried to its end
            if self._ridge.count > self.version:
                self._settle(ridge.due(self._ridge.state))
                self._truncate(self.version)
                self._record(round, x, y)
            raise

    def update_many(self, decisions: "Sequence[Decision | int | ArrayLike]", rewards: ArrayLike) -> None:
        """Learn several rewards in the order given: all of them or, on any error, none."""
        items = sequence("decisions", decisions, "a sequence of decisions or arms")
        ys = [number("rewards", reward) for reward in sequence("rewards", rewards, "a sequence of numbers")]
        if len(ys) != len(items):
            raise InvalidArgument("rewards", rewards, f"{len(items)} numbers, one a decision")
        claims: dict[int, FloatArray] = {}
        fresh = self._round
        for decision in items:
            round, x = self._resolve(decision, fresh, claims)
            claims[round] = x
            fresh = max(fresh, round + 1)
        self._absorb(list(claims), list(claims.values()), ys)

    def forget(self, decision: Decision) -> None:
        """Close a decision whose reward will never come."""
        instance("decision", decision, Decision, "a decision")
        round, _ = self._resolve(decision, self._round, ())
        del self._open[round]

    def propensities(self, features: ArrayLike | None = None) -> FloatArray:
        """The exact probability of each arm in the next round: [K]."""
        return self._weights(self._round, self.arms if features is None else self._offer(features)).copy()

    def votes(self) -> IntArray | None:
        """Each member's greedy arm: [m]; None for policies and arms without members or numbers."""
        return None

    def log(self) -> Log:
        """All observations so far, in the order of the fold."""
        arms = np.array(self._log_arms, dtype=np.int64)
        features = np.empty((arms.size, self.arms.dim))
        if isinstance(self.arms, FiniteArms):
            features[:] = self.arms.features[arms]  # rows of UNNUMBERED are overwritten next
        features[arms == UNNUMBERED] = self._other_features()
        return Log(np.array(self._log_rounds, dtype=np.int64), features, np.array(self._log_rewards, dtype=np.float64))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a snapshot for `ensample.load`: complete or not at all."""
        save(self, path)

    def diagnostics(self, theta_star: ArrayLike | None = None, setting: Setting | None = None) -> Diagnostics:
        """What the analysis watches; with the true parameter also the paper's events. See `Diagnostics`."""
        return diagnose(self, theta_star, setting)

    @abstractmethod
    def _choose(self, round: int, offered: Arms) -> tuple[int, int | None, FloatArray]:
        """(member, arm, features) for a round; changes nothing."""

    @abstractmethod
    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        """Take in one observation by one call of a kernel, or raise and change nothing; returns what `_settle` is told."""

    def _settle(self, due: bool) -> None:
        """What follows an observation; `due` is the kernel's word on V^-1. Doing it twice changes nothing."""
        self._ridge.tend(due)

    @abstractmethod
    def _weights(self, round: int, offered: Arms) -> FloatArray:
        """The probability of each arm on offer in a round: [K]."""

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that make up the learned state, by name; learning changes them in place."""
        return {"ridge": self._ridge.state}

    def _offer(self, features: ArrayLike) -> FiniteArms:
        if self.recipe.setting is not None:
            raise AssumptionError(
                f"{type(self.recipe).__name__}.from_theorem", "one set of arms for all rounds", "decide was given features"
            )
        offered = FiniteArms(features)
        if offered.dim != self.arms.dim:
            raise InvalidArgument("features", features, f"a K x {self.arms.dim} array, not shape {offered.features.shape}")
        return offered

    def _resolve(self, decision: object, fresh: int, taken: Collection[int]) -> tuple[int, FloatArray]:
        """(round, features) that a reward is for; `fresh` is the next free round, `taken` are rounds already claimed."""
        if isinstance(decision, Decision):
            known = self._open.get(decision._round)
            if known is None or not (known is decision or self._twin(known, decision)) or decision._round in taken:
                raise DecisionError("decision", decision, "an open decision of this policy, rewarded once")
            return known._round, known._features
        if isinstance(decision, int | np.integer) and isinstance(self.arms, FiniteArms):
            arm = whole("arm", decision, 0, len(self.arms) - 1)
            for round, waiting in self._open.items():
                if waiting._arm == arm and waiting._offered is self.arms and round not in taken:
                    return round, waiting._features
            return fresh, self.arms.features[arm]
        if isinstance(decision, Sequence | np.ndarray) and not isinstance(decision, str | bytes):
            return fresh, vector("arm", decision, self.arms.dim)
        kinds = "a decision, the index of an arm" if isinstance(self.arms, FiniteArms) else "a decision"
        raise WrongType("decision", decision, f"{kinds} or a vector of {self.arms.dim} features")

    def _twin(self, known: Decision, decision: Decision) -> bool:
        """Whether a decision is this policy's own, taken before a snapshot or by a replica: same recipe, seed and answer."""
        theirs = decision._policy
        return theirs.seed == self.seed and theirs.recipe == self.recipe and known == decision

    def _best(self, theta: FloatArray, offered: Arms) -> tuple[int | None, FloatArray]:
        """What arms answer that are not a list; they may be the user's own."""
        arm, x = offered.best(theta)
        x = vector("best(theta)", x, self.arms.dim)
        x.setflags(write=False)
        return arm if arm is None else whole("best(theta)", arm, 0), x

    def _propensity_of(self, decision: Decision) -> float:
        if decision._version == UNKNOWN:
            raise PropensityError(f"the propensity of {decision!r} was not asked for before the snapshot was taken")
        if decision._version != self.version or decision._offered is None:
            raise PropensityError(
                f"the policy has learned since {decision!r}: ask for its propensity before the next update, "
                "or use decide(propensity=True)"
            )
        return float(self._weights(decision._round, decision._offered)[decision._arm])

    def _record(self, round: int, x: FloatArray, y: float) -> None:
        content = x.tobytes()
        arm = self._numbers.get(content, UNNUMBERED)
        if arm == UNNUMBERED:
            self._log_others.frombytes(content)
        self._log_arms.append(arm)
        self._log_rewards.append(y)
        self._log_rounds.append(round)
        self._open.pop(round, None)
        if round >= self._round:
            self._round = round + 1

    def _absorb(self, rounds: list[int], features: list[FloatArray], rewards: list[float]) -> None:
        """Take in observations: all of them or, on any error, none."""
        before = {name: values.copy() for name, values in self._arrays().items()}
        version, opened, begun = self.version, dict(self._open), self._round
        try:
            for round, x, y in zip(rounds, features, rewards, strict=True):
                self._settle(self._learn(round, x, y))
                self._record(round, x, y)
        except BaseException:  # Ctrl-C too
            for name, values in self._arrays().items():
                values[...] = before[name]
            self._truncate(version)
            self._open, self._round = opened, begun
            raise

    def _truncate(self, version: int) -> None:
        """Cut the log back to a number of observations, also where the last was noted by half."""
        del self._log_rounds[version:]
        del self._log_rewards[version:]
        del self._log_arms[version:]
        del self._log_others[self.arms.dim * sum(arm == UNNUMBERED for arm in self._log_arms) :]

    def _log_columns(self) -> dict[str, "array[int] | array[float]"]:
        return {
            "rounds": self._log_rounds,
            "arms": self._log_arms,
            "others": self._log_others,
            "rewards": self._log_rewards,
        }

    def _other_features(self) -> FloatArray:
        """Features in the log that are no standing arm: [n, d]."""
        return np.array(self._log_others, dtype=np.float64).reshape(-1, self.arms.dim)


def number_rows(arms: Arms) -> dict[bytes, int]:
    """From the bytes of a standing arm's features to its index, the lowest of equal arms."""
    if not isinstance(arms, FiniteArms):
        return {}
    return {arms.features[k].tobytes(): k for k in range(len(arms) - 1, -1, -1)}
