"""How a pair of context and action becomes a vector x of named columns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from ensample.checks import whole
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoders import EVERYTHING, Context, Encoder, Items, named
from ensample.experiments.features.vocabulary import SHARED, Vocabulary
from ensample.plain_data import PlainDict

CAP = 256
"""Columns of x at most, by default: learning costs the square of their number."""

NOTHING = Items([], [])
Names = tuple[str, ...]


class Features(ABC):
    """A frozen description of how context and action become a vector x of named columns.

    A column is given to a name in order of first sight, at most `cap` of them, of which the last 8
    are shared by whatever comes later; or the names are hashed into `hashed` columns. `first` is
    what all actions have in common in one decision, `second` what an action has besides; names and
    numbers of the columns are made of both.
    """

    cap: int
    hashed: int | None

    @abstractmethod
    def first(self, context: Context, seen: Vocabulary) -> Items:
        """Encode the context, once a decision."""

    @abstractmethod
    def second(self, context: Context, features: PlainDict | None, seen: Vocabulary) -> Items:
        """Encode an action's own features, if it has any."""

    @abstractmethod
    def names(self, first: Names, action: str, second: Names) -> list[str]:
        """Return the columns that an action fills."""

    @abstractmethod
    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        """Return what it fills them with."""

    @property
    def encoders(self) -> tuple[Encoder, ...]:
        return tuple(value for value in vars(self).values() if isinstance(value, Encoder))


def check(features: Features, *encoders: str) -> None:
    """Raise on fields that are no encoders, and on sizes that cannot be used."""
    for name in encoders:
        value = getattr(features, name)
        if value is not None and not isinstance(value, Encoder):
            expected = "an encoder such as Columns('age') or OneHot(), or None"
            raise WrongType(name, value, expected)
    object.__setattr__(features, "cap", whole("cap", features.cap, 2 * SHARED, 1 << 14))
    if features.hashed is not None:
        object.__setattr__(features, "hashed", whole("hashed", features.hashed, 1, 1 << 14))
        if features.cap != CAP:
            raise InvalidArgument("cap", features.cap, "none where names are hashed")


def encoded(encoder: Encoder | None, values: Context | None, seen: Vocabulary) -> Items:
    return NOTHING if values is None else (encoder or EVERYTHING).items(values, seen)


def own(action: str) -> str:
    """Return the column that is 1 for one action."""
    return f"[{action}]"


@dataclass(frozen=True)
class Crosses(Features):
    """An intercept for each action, the context, and context x action: the default.

    x = (1{a}, phi(c), psi(a), phi(c) psi(a)'), with the action's name in the place of psi(a) where
    it has no features. `context` and `action` say what phi and psi are; by default all numbers as
    they are and an indicator for each string.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=es.Crosses())
    >>> decision = experiment.decide({"age": 31, "device": "phone"})
    >>> experiment.columns
    ['[sport]', 'age', 'device=phone', 'age x [sport]', 'device=phone x [sport]',
     '[culture]', 'age x [culture]', 'device=phone x [culture]']

    The number of columns is what was seen, at most `cap`: after that new names share eight columns,
    and a `FeatureCapWarning` says so. Or `hashed` of them, whatever is seen. After 10,000 rewards x
    grows no more: it keeps twice the columns then used.
    """

    context: Encoder | None = None
    action: Encoder | None = None
    cap: int = field(default=CAP, kw_only=True)
    hashed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check(self, "context", "action")

    def first(self, context: Context, seen: Vocabulary) -> Items:
        return encoded(self.context, context, seen)

    def second(self, context: Context, features: PlainDict | None, seen: Vocabulary) -> Items:
        return encoded(self.action, features, seen)

    def names(self, first: Names, action: str, second: Names) -> list[str]:
        crosses = [f"{name} x {other}" for name in first for other in second or (own(action),)]
        return [own(action), *first, *second, *crosses]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        if not second:
            return [1.0, *first, *first]
        return [1.0, *first, *second, *(number * other for number in first for other in second)]


@dataclass(frozen=True)
class Disjoint(Features):
    """A model for each action: x = 1{a} (1, phi(c)), so that actions learn nothing from each other.

    As in L. Li et al., "A Contextual-Bandit Approach to Personalized News Article Recommendation",
    WWW 2010, section 3.1; the scales of noise and parameter are learned from all actions together.
    Features of the action's own are part of phi.

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
        check(self, "context")

    def first(self, context: Context, seen: Vocabulary) -> Items:
        return encoded(self.context, context, seen)

    def second(self, context: Context, features: PlainDict | None, seen: Vocabulary) -> Items:
        return encoded(None, features, seen)

    def names(self, first: Names, action: str, second: Names) -> list[str]:
        return [own(action), *(f"{name} x {own(action)}" for name in (*first, *second))]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        return [1.0, *first, *second]


@dataclass(frozen=True)
class Hybrid(Features):
    """x = (z(c, a), 1{a} (1, phi(c))), where `shared` says what z is, and `own` what phi is.

    z is of the context and the action's features together. As in Li et al. 2010, section 3.2.
    Without an `own` part x is z alone: numbers as they are, say. Then what does not depend on the
    action cannot tell actions apart.

    >>> import ensample as es
    >>> actions = {"small": {"price": 3, "size": 1}, "large": {"price": 5, "size": 2}}
    >>> features = es.Hybrid(es.Columns("price", "size"))
    >>> experiment = es.Experiment("coffee", actions=actions, features=features)
    >>> decision = experiment.decide()
    >>> experiment.columns
    ['price', 'size']
    """

    shared: Encoder | None = None
    own: Encoder | None = None
    cap: int = field(default=CAP, kw_only=True)
    hashed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check(self, "shared", "own")
        if self.shared is None and self.own is None:
            expected = "an encoder such as Columns('price'), or one for own"
            raise InvalidArgument("shared", None, expected)

    def first(self, context: Context, seen: Vocabulary) -> Items:
        return NOTHING if self.own is None else encoded(self.own, context, seen)

    def second(self, context: Context, features: PlainDict | None, seen: Vocabulary) -> Items:
        merged = context if features is None else {**named(context), **features}
        return NOTHING if self.shared is None else encoded(self.shared, merged, seen)

    def names(self, first: Names, action: str, second: Names) -> list[str]:
        if self.own is None:
            return list(second)
        return [*second, own(action), *(f"{name} x {own(action)}" for name in first)]

    def numbers(self, first: list[float], second: list[float]) -> list[float]:
        return second if self.own is None else [*second, 1.0, *first]
