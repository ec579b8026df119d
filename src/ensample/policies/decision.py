"""The answer of a policy in one round."""

from operator import attrgetter
from typing import Any, Self

import numpy as np

from ensample.checks import boolean, instance, number, vector, whole
from ensample.errors import InvalidArgument
from ensample.types import FloatArray

LAST_ROUND = 1 << 62
UNNUMBERED = -1  # features that are not a standing arm's, or arms that have no numbers


fields_of_reward = attrgetter("_round", "_arm", "_features", "_propensity", "_standing")
"""Round, arm, features, propensity and standing of a decision, by one call."""


def read_only(path: str) -> Any:
    """Return a property that reads an attribute without a call of Python."""
    return property(attrgetter(path))


class Decision:
    """A policy's answer in one round, as plain data that cannot be changed.

    It refers to no policy: stored with `to_dict` and read with `from_dict`, also in another
    process, it stands for the same round.

    >>> import ensample as es
    >>> arms = es.FiniteArms([[1.0, 0.0], [0.0, 1.0]])
    >>> policy = es.EnsembleSampling(size=10).start(arms, seed=0)
    >>> decision = policy.decide(propensity=True)
    >>> decision
    Decision(round=0, arm=1, member=0, propensity=0.4)
    >>> Decision.from_dict(decision.to_dict()) == decision
    True
    """

    FIELDS = (
        *("round", "arm", "features", "member"),
        *("version", "propensity", "standing", "origin"),
    )
    __slots__ = tuple(f"_{name}" for name in FIELDS)

    def __init__(
        self,
        round: int,
        arm: int | None,
        features: FloatArray,
        member: int,
        version: int,
        propensity: float | None = None,
        standing: bool = True,
        origin: str = "",
    ) -> None:
        self._round = round
        self._arm = arm
        self._features = features
        self._member = member
        self._version = version
        self._propensity = propensity
        self._standing = standing
        self._origin = origin

    round: int = read_only("_round")
    """Counted from 0."""

    arm: int = read_only("_arm")
    """The index among the arms on offer. (None on arms without numbers: the ball, a box, an
    oracle's.)
    """

    features: FloatArray = read_only("_features")
    """What was chosen: [d], read-only."""

    member: int = read_only("_member")
    """The member that acted, counted from 0."""

    version: int = read_only("_version")
    """The number of rewards that the policy had learned."""

    propensity: float | None = read_only("_propensity")
    """The exact probability with which this arm was chosen, of `decide(propensity=True)`; else
    None.

    `policy.propensity(decision)` gives it later, as long as the policy has learned nothing since.
    """

    standing: bool = read_only("_standing")
    """True if it was chosen among the standing arms, and not among features of that round's own."""

    origin: str = read_only("_origin")
    """A fingerprint of recipe and seed: no other policy's decision is taken for one's own."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, lists and names that JSON knows."""
        values = {name: getattr(self, name) for name in self.FIELDS}
        return values | {"features": self._features.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the decision of a `to_dict`."""
        instance("values", values, dict, "a dict of Decision.to_dict")
        missing = [name for name in cls.FIELDS if name not in values]
        if missing:
            expected = f"the keys of Decision.to_dict; missing: {', '.join(missing)}"
            raise InvalidArgument("values", values, expected)
        arm, propensity = values["arm"], values["propensity"]
        features = vector("features", values["features"])
        features.setflags(write=False)
        return cls(
            round=whole("round", values["round"], 0, LAST_ROUND),
            arm=None if arm is None else whole("arm", arm, 0),
            features=features,
            member=whole("member", values["member"], 0),
            version=whole("version", values["version"], 0),
            propensity=None if propensity is None else number("propensity", propensity, 0.0, 1.0),
            standing=boolean("standing", values["standing"]),
            origin=instance("origin", values["origin"], str, "a fingerprint"),
        )

    def __repr__(self) -> str:
        known = "" if self._propensity is None else f", propensity={self._propensity:.6g}"
        return f"Decision(round={self._round}, arm={self._arm}, member={self._member}{known})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        mine = self._round, self._member, self._arm
        theirs = other._round, other._member, other._arm
        return mine == theirs and np.array_equal(self._features, other._features)

    def __hash__(self) -> int:
        return hash((self._round, self._member, self._arm))

    def stands_for(self, other: "Decision") -> bool:
        """Return True if both are one decision, one of them perhaps read from elsewhere."""
        mine = self._version, self._standing, self._origin
        theirs = other._version, other._standing, other._origin
        return self is other or (mine == theirs and self == other)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)
