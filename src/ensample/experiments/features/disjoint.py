"""A model for each action."""

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
class Disjoint(Features):
    """A model for each action: x = 1{a} (1, phi(c)), so that nothing is learned of one action from another.

    As in L. Li et al., "A Contextual-Bandit Approach to Personalized News Article Recommendation", WWW 2010, section 3.1; the
    scales of noise and parameter are learned from all actions together. Features of the action's own are part of phi.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=es.Disjoint())
    >>> decision = experiment.decide({"age": 31})
    >>> experiment.columns
    ['[sport]', 'age x [sport]', '[culture]', 'age x [culture]']
    """

    context: Encoder | None = None
    cap: int = field(default=CAP, kw_only=True)
    hashed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checked_encoder("context", self.context)
        checked_room(self)

    def first(self, context: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        return encoded(self.context, context, seen)

    def second(
        self,
        context: "PlainDict | list[float | None]",
        features: PlainDict | None,
        seen: Vocabulary,
    ) -> Items:
        return encoded_own(None, features, seen)

    def names(self, first: tuple[str, ...], action: str, second: tuple[str, ...]) -> list[str]:
        return [own(action), *(f"{name} x {own(action)}" for name in (*first, *second))]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        return [1.0, *first, *second]
