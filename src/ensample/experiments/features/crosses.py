"""Context, action, and both at once: the default."""

from dataclasses import dataclass, field

from ensample.experiments.features.encoder import Encoder, Items
from ensample.experiments.features.features import (
    CAP,
    Features,
    checked_encoder,
    checked_room,
    encoded,
    encoded_own,
    own,
)
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import PlainDict


@dataclass(frozen=True)
class Crosses(Features):
    """An intercept for each action, the context, and context x action; what an experiment uses unless told otherwise.

    x = (1{a}, phi(c), psi(a), phi(c) psi(a)'), with the action's name in the place of psi(a) where it has no features.
    `context` and `action` say what phi and psi are; by default all numbers as they are and an indicator for each string.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=es.Crosses())
    >>> decision = experiment.decide({"age": 31, "device": "phone"})
    >>> experiment.columns
    ['[sport]', 'age', 'device=phone', 'age x [sport]', 'device=phone x [sport]',
     '[culture]', 'age x [culture]', 'device=phone x [culture]']

    The number of columns is what was seen, at most `cap`: after that new names share eight columns, and a `FeatureCapWarning`
    says so. Or `hashed` of them, whatever is seen. After 10,000 rewards x grows no more: it keeps twice the columns then used.
    """

    context: Encoder | None = None
    action: Encoder | None = None
    cap: int = field(default=CAP, kw_only=True)
    hashed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked_encoder("context", self.context)
        checked_encoder("action", self.action)
        checked_room(self)

    def first(self, context: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        return encoded(self.context, context, seen)

    def second(
        self,
        context: "PlainDict | list[float | None]",
        features: PlainDict | None,
        seen: Vocabulary,
    ) -> Items:
        return encoded_own(self.action, features, seen)

    def names(self, first: tuple[str, ...], action: str, second: tuple[str, ...]) -> list[str]:
        crosses = [f"{name} x {other}" for name in first for other in second or (own(action),)]
        return [own(action), *first, *second, *crosses]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        if not second:
            return [1.0, *first, *first]
        return [1.0, *first, *second, *(number * other for number in first for other in second)]
