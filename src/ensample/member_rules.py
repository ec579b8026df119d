"""Member rules J_t: which member of the ensemble acts in a round.

A rule is any callable `(round, size, rng) -> member`; rounds and members are counted from 0. The
rules here also know their weights (the probability of each member, given the state), which makes
propensities exact. A rule of your own gives exact propensities if it has a method `weights(round,
size)` that returns one weight a member.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.checks import whole
from ensample.errors import PropensityError, WrongType
from ensample.randomness import Address, Stream
from ensample.types import FloatArray

Promises = Callable[[], FloatArray]
"""Returns max_x x'theta^j for every member j: [m]. Most rules need not pay for it."""


class MemberRule(ABC):
    """A rule that chooses a member and knows the probability of each."""

    looks: ClassVar[bool] = True
    """Whether `choose` asks for promises; if not, it is given `no_promises`."""

    @abstractmethod
    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        """Return the member that acts in `round`: a pure function of seed, round and state."""

    @abstractmethod
    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        """Return weights proportional to the probability of each member in `round`: [m]."""


@dataclass(frozen=True)
class UniformMember(MemberRule):
    """Every member with probability 1/m: the rule of Theorem 1."""

    looks: ClassVar[bool] = False

    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        return int(address.uniform(round) * size)

    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        return np.ones(size)


UNIFORM_MEMBER = UniformMember()
"""The rule unless another is named."""


@dataclass(frozen=True)
class RoundRobin(MemberRule):
    """Member t mod m in round t.

    With m = T this is LinPHE (the Proposition); with m < T no bound is claimed.
    """

    looks: ClassVar[bool] = False

    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        return round % size

    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        return certainty(round % size, size)


@dataclass(frozen=True)
class StickyMember(MemberRule):
    """A uniform member that stays for `rounds` rounds: it is drawn in rounds 0, n, 2n, ...

    No bound is claimed for n > 1. Propensities are known in the rounds in which a member is drawn;
    between them they depend on the member that was drawn.
    """

    rounds: int
    looks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", whole("rounds", self.rounds, 1, 1 << 40))

    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        return int(address.uniform(round - round % self.rounds) * size)

    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        if round % self.rounds:
            first = round - round % self.rounds
            raise PropensityError(
                f"the propensities of round {round} depend on the member drawn in round {first}"
            )
        return np.ones(size)


@dataclass(frozen=True)
class OptimisticMember(MemberRule):
    """The member that promises most, argmax_j max_x x'theta^j; the lowest index wins ties.

    Every member is looked at in every round. Its constants are `theory.optimistic_size` or
    `sharp_optimistic_size`, `optimistic_radius` and `optimistic_bound`, which says where the idea
    is from.
    """

    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        return int(np.argmax(promises()))

    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        return certainty(int(np.argmax(promises())), size)


@dataclass(frozen=True)
class CustomMember(MemberRule):
    """A rule of the user's own."""

    function: Callable[[int, int, Generator], int]
    looks: ClassVar[bool] = False

    def choose(self, round: int, size: int, address: Address, promises: Promises) -> int:
        return self.function(round, size, address.generator(Stream.MEMBER, round))

    def weights(self, round: int, size: int, promises: Promises) -> FloatArray:
        known = getattr(self.function, "weights", None)
        if known is None:
            raise PropensityError(
                f"the weights of the member rule {self.function!r} are not known: give it a method "
                "weights(round, size), or use UniformMember, RoundRobin or OptimisticMember"
            )
        return known(round, size)  # type: ignore[no-any-return]


def as_member_rule(value: object) -> MemberRule:
    """Return the rule itself, or a callable wrapped as one."""
    if isinstance(value, MemberRule):
        return value
    if callable(value) and not isinstance(value, type):
        return CustomMember(value)
    raise WrongType(
        "member",
        value,
        "a member rule such as UniformMember() or a callable (round, size, rng) -> member",
    )


def no_promises() -> FloatArray:
    """Raise an error: the promises for a rule that does not look."""
    raise AssertionError("a member rule asked for promises that says it never does")


def certainty(member: int, size: int) -> FloatArray:
    weights = np.zeros(size)
    weights[member] = 1.0
    return weights
