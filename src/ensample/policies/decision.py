"""What a policy answers, and what it remembers."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ensample.checks import boolean, instance, number, vector, whole
from ensample.errors import InvalidArgument
from ensample.extras import pandas_package
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas


LAST_ROUND = 1 << 62
UNNUMBERED = -1  # in the log: features that are not a standing arm's, or arms that have no numbers


class Log(NamedTuple):
    """Observations in the order in which they were taken in: what a policy has learned is a fold over them.

    `recipe.replay` takes its fields as arrays, lists or Series, and a frame whose columns have their names. There features are
    one column of lists, or all columns that have other names, in order; standing arms that are numbered need none.
    """

    round: IntArray  # [n] the round of the decision that was rewarded
    features: FloatArray  # [n, d]
    reward: FloatArray  # [n]
    arm: IntArray  # [n] the standing arm that was decided, -1 where it was none
    propensity: (
        FloatArray  # [n] the probability of what was decided, NaN where it was not asked for
    )

    def to_pandas(self) -> "pandas.DataFrame":
        """As a frame of pandas, with features as one column of lists; `recipe.replay` takes it as it takes the log.

        >>> import ensample as es
        >>> policy = es.EnsembleSampling(10).start(es.FiniteArms([[1.0], [2.0]]), seed=0)
        >>> policy.update(policy.decide(), 0.5)
        >>> policy.log().to_pandas()[["round", "arm", "reward"]].values.tolist()
        [[0.0, 0.0, 0.5]]
        """
        columns = self._asdict() | {"features": list(self.features)}
        frame: pandas.DataFrame = pandas_package().DataFrame(columns)
        return frame


class Decision:
    """A policy's answer in one round, as plain data that cannot be changed.

    It refers to no policy: stored with `to_dict` and read with `from_dict`, also in another process, it stands for the
    same round.

    >>> import ensample as es
    >>> policy = es.EnsembleSampling(size=10).start(es.FiniteArms([[1.0, 0.0], [0.0, 1.0]]), seed=0)
    >>> decision = policy.decide(propensity=True)
    >>> decision
    Decision(round=0, arm=1, member=0, propensity=0.4)
    >>> Decision.from_dict(decision.to_dict()) == decision
    True
    """

    __slots__ = (
        "_arm",
        "_features",
        "_member",
        "_origin",
        "_propensity",
        "_round",
        "_standing",
        "_version",
    )

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

    @property
    def round(self) -> int:
        """Counted from 0."""
        return self._round

    @property
    def arm(self) -> int:
        """The index among the arms on offer. (None on arms without numbers: the ball, a box, an oracle's.)"""
        return self._arm  # type: ignore[return-value]

    @property
    def features(self) -> FloatArray:
        """What was chosen: [d], read-only."""
        return self._features

    @property
    def member(self) -> int:
        """The member that acted, counted from 0."""
        return self._member

    @property
    def version(self) -> int:
        """How many rewards the policy had learned."""
        return self._version

    @property
    def propensity(self) -> float | None:
        """The exact probability with which this arm was chosen, of `decide(propensity=True)`; else None.

        `policy.propensity(decision)` gives it later, as long as the policy has learned nothing since.
        """
        return self._propensity

    @property
    def standing(self) -> bool:
        """Whether it was chosen among the standing arms, and not among features of that round's own."""
        return self._standing

    @property
    def origin(self) -> str:
        """A fingerprint of the recipe and the seed that it comes from: another's decision is not taken for one's own."""
        return self._origin

    def to_dict(self) -> dict[str, Any]:
        """As numbers, lists and names that JSON knows."""
        return {
            "round": self._round,
            "arm": self._arm,
            "features": self._features.tolist(),
            "member": self._member,
            "version": self._version,
            "propensity": self._propensity,
            "standing": self._standing,
            "origin": self._origin,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        instance("values", values, dict, "a dict of Decision.to_dict")
        missing = [name[1:] for name in cls.__slots__ if name[1:] not in values]
        if missing:
            raise InvalidArgument(
                "values", values, f"the keys of Decision.to_dict; missing: {', '.join(missing)}"
            )
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
        mine, theirs = (
            (self._round, self._member, self._arm),
            (other._round, other._member, other._arm),
        )
        return mine == theirs and np.array_equal(self._features, other._features)

    def __hash__(self) -> int:
        return hash((self._round, self._member, self._arm))

    def stands_for(self, other: "Decision") -> bool:
        """Whether both are the same decision of the same policy, one of them perhaps read from elsewhere."""
        mine, theirs = (
            (self._version, self._standing, self._origin),
            (other._version, other._standing, other._origin),
        )
        return self is other or (mine == theirs and self == other)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)
