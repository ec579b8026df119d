"""Encoders: from plain data to named numbers. `features` says how these become rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ensample.checks import vector, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.vocabulary import FORGETFUL, Vocabulary, signed
from ensample.plain_data import Plain, PlainDict
from ensample.types import FloatArray

MOST_VALUES = 64  # of a field of strings
MISSING = " is missing"


class Items(NamedTuple):
    """Named numbers; all that is not named is 0."""

    names: list[str]
    numbers: list[float]

    def add(self, name: str, number: float = 1.0) -> None:
        self.names.append(name)
        self.numbers.append(number)


class Encoder(ABC):
    """What of a context, or of an action's features, is used, and as what."""

    stored: ClassVar[bool] = True
    """Whether its fields say all of it, so that it can be written down."""

    @abstractmethod
    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        """The named numbers in some plain data; values of fields that are new may be noted in `seen`."""


class Everything(Encoder):
    """Numbers and booleans as they are; strings, and each string of a list, as an indicator; dicts by their paths.

    A value that is None (or NaN) has an indicator of its own. Of each field of strings the first 64 values are told apart.
    """

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        found = Items([], [])
        gather(named(values), "", found, seen)
        return found


EVERYTHING = Everything()


def named(values: "PlainDict | list[float | None]") -> PlainDict:
    """Entries of an array are called by their numbers."""
    return (
        values
        if type(values) is dict
        else {str(place): value for place, value in enumerate(values)}
    )


def gather(values: PlainDict, prefix: str, found: Items, seen: Vocabulary) -> None:
    names, numbers = found
    for key, value in values.items():
        path = prefix + key
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            names.append(path)
            numbers.append(float(value))
        elif kind is str:
            names.append(seen.category(path, value, MOST_VALUES))
            numbers.append(1.0)
        elif kind is dict:
            gather(value, f"{path}.", found, seen)
        elif value is None:
            names.append(path + MISSING)
            numbers.append(1.0)
        else:
            gather_list(value, path, found, seen)


def gather_list(values: list[Plain], path: str, found: Items, seen: Vocabulary) -> None:
    for place, item in enumerate(values):
        if isinstance(item, str):
            found.add(seen.category(path, item, MOST_VALUES))
        elif item is None:
            found.add(f"{path}[{place}]{MISSING}")
        else:
            found.add(f"{path}[{place}]", float(item))


def field_names(given: tuple[object, ...]) -> tuple[str, ...]:
    """At least one name, none of them twice; one list of names will do."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    for name in given:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise WrongType("names", name, "names of fields")
    names = tuple(map(str, given))
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("names", names, "one or more names of fields, none of them twice")
    return names


def found_at(values: PlainDict, path: str) -> Plain:
    """What a path such as "user.age" leads to; None where there is nothing."""
    if path in values:
        return values[path]
    head, _, rest = path.partition(".")
    inner = values.get(head)
    return found_at(inner, rest) if rest and isinstance(inner, dict) else None


@dataclass(frozen=True, init=False)
class Columns(Encoder):
    """These numbers or booleans of a context, as they are; an indicator where one is missing.

    A name may lead into dicts, "user.age"; a number counts the entries of an array.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=es.Disjoint(es.Columns("age", "visits")))
    >>> decision = experiment.decide({"age": 31, "visits": 2, "device": "phone"})
    >>> experiment.columns
    ['[sport]', 'age x [sport]', 'visits x [sport]', '[culture]', 'age x [culture]', 'visits x [culture]']
    """

    names: tuple[str, ...]

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]") -> None:
        object.__setattr__(self, "names", field_names(names))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names:
            value = found_at(values, name)
            if value is None:
                found.add(name + MISSING)
            elif isinstance(value, int | float):
                found.add(name, float(value))
            else:
                raise InvalidArgument(
                    f"context.{name}", value, "a number or a boolean, as Columns asks"
                )
        return found


@dataclass(frozen=True, init=False)
class OneHot(Encoder):
    """An indicator for each value of these fields, in order of first sight.

    The first `most` values of a field have one each, all others share one. A list of strings sets several. A field that is
    missing has an indicator of its own. Without names it is every field of the context.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport"], features=es.Disjoint(es.OneHot("device", most=2)))
    >>> for device in ["phone", "tablet", "watch", None]:
    ...     decision = experiment.decide({"device": device})
    >>> experiment.columns[1:]
    ['device=phone x [sport]', 'device=tablet x [sport]', 'device=(other) x [sport]', 'device is missing x [sport]']
    """

    names: tuple[str, ...]
    most: int

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]", most: int = 32) -> None:
        object.__setattr__(
            self, "names", field_names(names) if names and names != ((),) and names != ([],) else ()
        )
        object.__setattr__(self, "most", whole("most", most, 1, 100_000))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names or values:
            value = found_at(values, name)
            if value is None:
                found.add(name + MISSING)
            for text in texts(value):
                found.add(seen.category(name, text, self.most))
        return found


def texts(value: Plain) -> list[str]:
    """Each value as text; a dict is what it looks like, which keeps values apart."""
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


REMEMBERED = 100_000  # names whose hash is kept at hand


class Hashed:
    """The columns of hashed names."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._places: dict[str, tuple[int, float]] = {}

    def place(self, feature: str) -> tuple[int, float]:
        """(column, sign)."""
        found = self._places.get(feature)
        if found is None:
            if len(self._places) >= REMEMBERED:
                self._places.clear()
            found = self._places[feature] = signed(feature, self.dim)
        return found


@dataclass(frozen=True)
class Hashing(Encoder):
    """All that is in a context, hashed with signs into `dim` columns, as scikit-learn's `FeatureHasher` does.

    `features=es.Hashing(256)` hashes everything: actions, context and context x action. As a part, as in
    `es.Disjoint(es.Hashing(16))`, it hashes the context alone. Nothing is remembered, so nothing grows; two features may share
    a column.

    >>> import ensample as es
    >>> experiment = es.Experiment("ads", actions=None, features=es.Hashing(64))
    >>> experiment.decide({"page": "sport"}, actions={"shoes": {"price": 80}, "tea": {"price": 4}}).action in ("shoes", "tea")
    True
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole("dim", self.dim, 1, 1 << 20))
        object.__setattr__(self, "_hashed", Hashed(self.dim))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        hashed: Hashed = self._hashed  # type: ignore[attr-defined]
        totals: dict[int, float] = {}
        names, numbers = EVERYTHING.items(values, FORGETFUL)
        for name, number in zip(names, numbers, strict=True):
            column, sign = hashed.place(name)
            totals[column] = totals.get(column, 0.0) + sign * number
        return Items([f"hash {column}" for column in totals], list(totals.values()))


WRONG_INPUT = AttributeError, KeyError, TypeError, ValueError
"""Errors that transformers raise for data that they were not fitted to."""


class FromTransformer(Encoder):
    """The columns of `transformer.transform([context])`, for one that is fitted: a pipeline, a `DictVectorizer`, a scaler.

    It gets the context as a dict, or as a row where the context is an array. With `field`, the name of one field
    ("headline", "user.country"), it gets that field alone, and no other field is used: a text as it is, which a
    vectorizer takes, a number as a row of one, a list as a row. A field that is missing has an indicator of its own.

    It cannot be written down, so that `open_experiment` must be given it again.

    >>> import ensample as es
    >>> from sklearn.feature_extraction import DictVectorizer
    >>> fitted = DictVectorizer(sparse=False).fit([{"device": "phone"}, {"device": "tablet"}])
    >>> experiment = es.Experiment("news", actions=["sport"], features=es.Disjoint(es.FromTransformer(fitted)))
    >>> decision = experiment.decide({"device": "phone"})
    >>> experiment.columns
    ['[sport]', '0 x [sport]', '1 x [sport]']
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> words = es.FromTransformer(TfidfVectorizer().fit(["cup final", "election"]), "headline")
    >>> experiment = es.Experiment("news", actions=["sport"], features=es.Disjoint(words))
    >>> decision = experiment.decide({"headline": "final election", "id": "u-1742"})
    >>> experiment.columns
    ['[sport]', 'headline[0] x [sport]', 'headline[1] x [sport]', 'headline[2] x [sport]']
    """

    stored: ClassVar[bool] = False

    def __init__(self, transformer: Any, field: "str | int | None" = None) -> None:
        if isinstance(transformer, type) or not hasattr(transformer, "transform"):
            raise WrongType("transformer", transformer, "a fitted transformer of scikit-learn")
        self.transformer = transformer
        self.field = None if field is None else checked_field(field)

    def __repr__(self) -> str:
        return f"FromTransformer({self.transformer!r}{'' if self.field is None else f', {self.field!r}'})"

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        if self.field is None:
            row = self.transformed(values if isinstance(values, dict) else numbers_of(values))
            return Items([str(place) for place in range(row.size)], row.tolist())
        value = found_at(named(values), self.field)
        if value is None:
            return Items([self.field + MISSING], [1.0])
        row = self.transformed(row_of(value))
        return Items([f"{self.field}[{place}]" for place in range(row.size)], row.tolist())

    def transformed(self, given: Any) -> FloatArray:
        try:
            made = self.transformer.transform([given])
        except WRONG_INPUT as error:
            name = type(self.transformer).__name__
            expected = f"what {name}.transform takes ({type(error).__name__}: {error})"
            if self.field is None:
                expected += (
                    "; FromTransformer(transformer, field) gives it one field of the context"
                )
            raise InvalidArgument(
                "context" if self.field is None else f"context.{self.field}", given, expected
            ) from error
        return vector(
            "transform(context)",
            np.ravel(made.toarray() if hasattr(made, "toarray") else np.asarray(made)),
        )


def checked_field(field: object) -> str:
    if not isinstance(field, str | int) or isinstance(field, bool):
        raise WrongType("field", field, "the name of one field of the context")
    return str(field)


def numbers_of(values: "list[float | None]") -> list[float]:
    return [np.nan if value is None else value for value in values]


def row_of(value: Plain) -> Any:
    """Return the value of a field as a transformer takes it: a text or a dict as it is, numbers as a row."""
    if isinstance(value, list):
        return value if value and isinstance(value[0], str) else numbers_of(value)
    return value if isinstance(value, str | dict) else [value]
