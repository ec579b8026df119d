"""(context, action) -> x: what the featurisers have in common."""

from abc import ABC, abstractmethod

from ensample.checks import whole
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoder import EVERYTHING, Encoder, Items
from ensample.experiments.features.vocabulary import SHARED, Vocabulary
from ensample.experiments.plain import PlainDict

CAP = 256
"""Columns of x at most, unless a featuriser says otherwise: learning costs the square of their number."""

NOTHING = Items([], [])


class Features(ABC):
    """A frozen description of how context and action become a vector x of named columns.

    A column is given to a name in order of first sight, at most `cap` of them, of which the last 8 are shared by whatever comes
    later; or the names are hashed into `hashed` columns. `first` is what all actions have in common in one decision, `second`
    what an action has besides; names and numbers of the columns are made of both.
    """

    cap: int
    hashed: int | None

    @abstractmethod
    def first(self, context: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        """Of the context, once a decision."""

    @abstractmethod
    def second(
        self,
        context: "PlainDict | list[float | None]",
        features: PlainDict | None,
        seen: Vocabulary,
    ) -> Items:
        """Of an action's own features, if it has any."""

    @abstractmethod
    def names(self, first: "tuple[str, ...]", action: str, second: "tuple[str, ...]") -> list[str]:
        """The columns that an action fills."""

    @abstractmethod
    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        """What it fills them with."""

    @property
    def encoders(self) -> tuple[Encoder, ...]:
        """Its parts."""
        return tuple(value for value in vars(self).values() if isinstance(value, Encoder))


def encoded(
    encoder: Encoder | None, values: "PlainDict | list[float | None]", seen: Vocabulary
) -> Items:
    return (encoder or EVERYTHING).items(values, seen)


def encoded_own(encoder: Encoder | None, features: PlainDict | None, seen: Vocabulary) -> Items:
    return NOTHING if features is None else encoded(encoder, features, seen)


def own(action: str) -> str:
    """The column that is 1 for one action."""
    return f"[{action}]"


def checked_encoder(argument: str, value: object) -> None:
    if value is not None and not isinstance(value, Encoder):
        raise WrongType(argument, value, "an encoder such as Columns('age') or OneHot(), or None")


def checked_room(features: Features) -> None:
    """Raise on sizes that cannot be used."""
    object.__setattr__(features, "cap", whole("cap", features.cap, 2 * SHARED, 1 << 14))
    if features.hashed is not None:
        object.__setattr__(features, "hashed", whole("hashed", features.hashed, 1, 1 << 14))
        if features.cap != CAP:
            raise InvalidArgument("cap", features.cap, "none where names are hashed")
