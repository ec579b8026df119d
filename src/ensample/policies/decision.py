"""What a policy answers, and what it remembers."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensample.arms import Arms
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy

__all__ = ["Decision", "Log"]


class Log(NamedTuple):
    """Observations in the order in which they were taken in: what a policy has learned is a fold over them."""

    round: IntArray  # [n] the round of the decision that was rewarded
    features: FloatArray  # [n, d]
    reward: FloatArray  # [n]


class Decision:
    """A policy's answer in one round; cannot be changed."""

    __slots__ = ("_arm", "_features", "_member", "_offered", "_policy", "_propensity", "_round", "_version")

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
        self._policy = policy
        self._version = version  # how many rewards the policy had learned
        self._offered = offered  # the arms it was chosen from, where they are still known
        self._round = round
        self._member = member
        self._arm = arm
        self._features = features
        self._propensity: float | None = None

    @property
    def round(self) -> int:
        """Counted from 0."""
        return self._round

    @property
    def member(self) -> int:
        """The member that acted, counted from 0."""
        return self._member

    @property
    def arm(self) -> int | None:
        """The index among the arms on offer; None where arms are not numbered."""
        return self._arm

    @property
    def features(self) -> FloatArray:
        """What was chosen: [d], read-only."""
        return self._features

    @property
    def propensity(self) -> float:
        """The exact probability with which this arm was chosen, given the policy's state at the time.

        Ask before the policy learns again, or use `decide(propensity=True)`: later that state is gone, and this raises
        `PropensityError`.
        """
        if self._propensity is None:
            self._propensity = self._policy._propensity_of(self)
        return self._propensity

    def __repr__(self) -> str:
        known = "" if self._propensity is None else f", propensity={self._propensity:.6g}"
        return f"Decision(round={self._round}, arm={self._arm}, member={self._member}{known})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        mine, theirs = (self._round, self._member, self._arm), (other._round, other._member, other._arm)
        return mine == theirs and np.array_equal(self._features, other._features)

    def __hash__(self) -> int:
        return hash((self._round, self._member, self._arm))
