"""One model for all actions, and one for each."""

from dataclasses import dataclass, field

from ensample.errors import InvalidArgument
from ensample.experiments.features.encoder import Encoder, Items, named
from ensample.experiments.features.features import (
    CAP,
    NOTHING,
    Features,
    checked_encoder,
    checked_room,
    encoded,
    own,
)
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import PlainDict


@dataclass(frozen=True)
class Hybrid(Features):
    """x = (z(c, a), 1{a} (1, phi(c))): `shared` says what z is, of the context and the action's features; `own` what phi is.

    As in Li et al. 2010, section 3.2. Without an `own` part x is z alone: numbers as they are, say. Then what does not depend
    on the action cannot tell actions apart.

    >>> import ensample as es
    >>> actions = {"small": {"price": 3, "size": 1}, "large": {"price": 5, "size": 2}}
    >>> experiment = es.Experiment("coffee", actions=actions, features=es.Hybrid(es.Columns("price", "size")))
    >>> decision = experiment.decide()
    >>> experiment.columns
    ['price', 'size']
    """

    shared: Encoder | None = None
    own: Encoder | None = None
    cap: int = field(default=CAP, kw_only=True)
    hashed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked_encoder("shared", self.shared)
        checked_encoder("own", self.own)
        if self.shared is None and self.own is None:
            raise InvalidArgument(
                "shared", None, "an encoder such as Columns('price'), or one for own"
            )
        checked_room(self)

    def first(self, context: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        return NOTHING if self.own is None else encoded(self.own, context, seen)

    def second(
        self,
        context: "PlainDict | list[float | None]",
        features: PlainDict | None,
        seen: Vocabulary,
    ) -> Items:
        merged = context if features is None else {**named(context), **features}
        return NOTHING if self.shared is None else encoded(self.shared, merged, seen)

    def names(self, first: tuple[str, ...], action: str, second: tuple[str, ...]) -> list[str]:
        if self.own is None:
            return list(second)
        return [*second, own(action), *(f"{name} x {own(action)}" for name in first)]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        return second if self.own is None else [*second, 1.0, *first]
