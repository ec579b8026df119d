"""What a policy answers, and what it remembers."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensample.arms import Arms
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy

__all__ = ["Decision", "Log"]


class Log(NamedTuple):
    """Observations in the order in which they were taken in: a policy's state is a fold over them."""

    round: IntArray  # [n] the round of the decision that was rewarded
    features: FloatArray  # [n, d]
    reward: FloatArray  # [n]


class Decision:
    """A policy's answer in one round: `round`, `arm`, `features`, `member` and, when asked for, `propensity`.

    `arm` is the index among the arms on offer, None where arms are not numbered.
    """

    __slots__ = ("_propensity", "arm", "features", "member", "offered", "policy", "round", "version")

    def __init__(
        self,
        policy: "Policy",
        version: int,
        offered: Arms | None,
        round: int,
        member: int,
        arm: int | None,
        features: FloatArray,
    ) -> None:
        self.policy = policy
        self.version = version  # how many rewards the policy had learned
        self.offered = offered  # the arms it was chosen from, where they are still known
        self.round = round
        self.member = member
        self.arm = arm
        self.features = features
        self._propensity: float | None = None

    @property
    def propensity(self) -> float:
        """The exact probability with which this arm was chosen, given the policy's state at the time.

        Ask before the policy learns again, or use `decide(propensity=True)`: later that state is gone, and this raises
        `PropensityError`.
        """
        if self._propensity is None:
            self._propensity = self.policy.propensity_of(self)
        return self._propensity

    def __repr__(self) -> str:
        known = "" if self._propensity is None else f", propensity={self._propensity:.6g}"
        return f"Decision(round={self.round}, arm={self.arm}, member={self.member}{known})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        mine, theirs = (self.round, self.member, self.arm), (other.round, other.member, other.arm)
        return mine == theirs and np.array_equal(self.features, other.features)

    def __hash__(self) -> int:
        return hash((self.round, self.member, self.arm))
