"""Encoders: from plain data to named numbers. `features` says how these become rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ensample.checks import vector, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.vocabulary import FORGETFUL, HashedColumns, Vocabulary
from ensample.plain_data import Plain, PlainDict
from ensample.types import FloatArray

Context = PlainDict | list[float | None]
"""A dict, or an array of numbers, whose entries are called by their places."""

MOST_VALUES = 64  # of a field of strings
MISSING = " is missing"
WRONG_INPUT = AttributeError, KeyError, TypeError, ValueError
"""Errors that transformers raise for data that they were not fitted to."""


class Items(NamedTuple):
    """Named numbers; all that is not named is 0."""

    names: list[str]
    numbers: list[float]

    def add(self, name: str, number: float = 1.0) -> None:
        self.names.append(name)
        self.numbers.append(number)


class Encoder(ABC):
    """A description of what is used of a context, or of an action's features, and as what."""

    stored: ClassVar[bool] = True
    """True if its fields say all of it, so that it can be written down."""

    @abstractmethod
    def items(self, values: Context, seen: Vocabulary) -> Items:
        """Return named numbers of plain data, and note values of fields that are new in `seen`."""


class Everything(Encoder):
    """Numbers and booleans as they are; strings as indicators; dicts by their paths.

    Each string of a list has an indicator, and so has a value that is None (or NaN). Of each field
    of strings the first 64 values are told apart.
    """

    def items(self, values: Context, seen: Vocabulary) -> Items:
        found = Items([], [])
        gather(named(values), "", found, seen)
        return found


EVERYTHING = Everything()


def named(values: Context) -> PlainDict:
    """Call the entries of an array by their places."""
    if type(values) is dict:
        return values
    return {str(place): value for place, value in enumerate(values)}


def gather(values: PlainDict, prefix: str, found: Items, seen: Vocabulary) -> None:
    """Add all values of a dict to `found`."""
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
    """Check names of fields: at least one, none of them twice. One list of names will do."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    for name in given:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise WrongType("names", name, "names of fields")
    names = tuple(map(str, given))
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("names", names, "one or more names of fields, none of them twice")
    return names


def value_at(values: PlainDict, path: str) -> Plain:
    """Return the value that a path such as "user.age" leads to; None where there is nothing."""
    if path in values:
        return values[path]
    head, _, rest = path.partition(".")
    inner = values.get(head)
    return value_at(inner, rest) if rest and isinstance(inner, dict) else None


@dataclass(frozen=True, init=False)
class Columns(Encoder):
    """Numbers or booleans of a context as they are, and an indicator where one is missing.

    A name may lead into dicts, "user.age"; a number counts the entries of an array.

    >>> import ensample as es
    >>> features = es.Disjoint(es.Columns("age", "visits"))
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=features)
    >>> decision = experiment.decide({"age": 31, "visits": 2, "device": "phone"})
    >>> experiment.columns
    ['[sport]', 'age x [sport]', 'visits x [sport]',
     '[culture]', 'age x [culture]', 'visits x [culture]']
    """

    names: tuple[str, ...]

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]") -> None:
        object.__setattr__(self, "names", field_names(names))

    def items(self, values: Context, seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names:
            value = value_at(values, name)
            if value is None:
                found.add(name + MISSING)
            elif isinstance(value, int | float):
                found.add(name, float(value))
            else:
                expected = "a number or a boolean, as Columns asks"
                raise InvalidArgument(f"context.{name}", value, expected)
        return found


@dataclass(frozen=True, init=False)
class OneHot(Encoder):
    """An indicator for each value of some fields, in order of first sight.

    The first `most` values of a field have one each, all others share one. A list of strings sets
    several. A field that is missing has an indicator of its own. Without names it is every field of
    the context.

    >>> import ensample as es
    >>> features = es.Disjoint(es.OneHot("device", most=2))
    >>> experiment = es.Experiment("news", actions=["sport"], features=features)
    >>> for device in ["phone", "tablet", "watch", None]:
    ...     decision = experiment.decide({"device": device})
    >>> experiment.columns[1:]
    ['device=phone x [sport]', 'device=tablet x [sport]', 'device=(other) x [sport]',
     'device is missing x [sport]']
    """

    names: tuple[str, ...]
    most: int

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]", most: int = 32) -> None:
        found = field_names(names) if names not in ((), ((),), ([],)) else ()
        object.__setattr__(self, "names", found)
        object.__setattr__(self, "most", whole("most", most, 1, 100_000))

    def items(self, values: Context, seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names or values:
            value = value_at(values, name)
            if value is None:
                found.add(name + MISSING)
                continue
            for item in value if isinstance(value, list) else [value]:
                found.add(seen.category(name, str(item), self.most))
        return found


@dataclass(frozen=True)
class Hashing(Encoder):
    """All of a context, hashed with signs into `dim` columns, as scikit-learn's `FeatureHasher`.

    `features=es.Hashing(256)` hashes everything: actions, context and context x action. As a part,
    as in `es.Disjoint(es.Hashing(16))`, it hashes the context alone. Nothing is remembered, so
    nothing grows; two features may share a column.

    >>> import ensample as es
    >>> experiment = es.Experiment("ads", actions=None, features=es.Hashing(64))
    >>> offer = {"shoes": {"price": 80}, "tea": {"price": 4}}
    >>> experiment.decide({"page": "sport"}, actions=offer).action in offer
    True
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole("dim", self.dim, 1, 1 << 20))
        object.__setattr__(self, "_hashed", HashedColumns(self.dim))

    def items(self, values: Context, seen: Vocabulary) -> Items:
        hashed: HashedColumns = self._hashed  # type: ignore[attr-defined]
        totals: dict[int, float] = {}
        for name, number in zip(*EVERYTHING.items(values, FORGETFUL), strict=True):
            column, sign = hashed.place(name)
            totals[column] = totals.get(column, 0.0) + sign * number
        return Items([f"hash {column}" for column in totals], list(totals.values()))


class FromTransformer(Encoder):
    """The columns of `transformer.transform([context])`, for a fitted one: a pipeline, a
    vectorizer.

    It gets the context as a dict, or as a row where the context is an array. With `field`, the name
    of one field ("headline", "user.country"), it gets that field alone, and no other field is used:
    a text as it is, which a vectorizer takes, a number as a row of one, a list as a row. A field
    that is missing has an indicator of its own.

    It cannot be written down, so that `open_experiment` must be given it again.

    >>> import ensample as es
    >>> from sklearn.feature_extraction import DictVectorizer
    >>> fitted = DictVectorizer(sparse=False).fit([{"device": "phone"}, {"device": "tablet"}])
    >>> features = es.Disjoint(es.FromTransformer(fitted))
    >>> experiment = es.Experiment("news", actions=["sport"], features=features)
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
        if field is not None and (not isinstance(field, str | int) or isinstance(field, bool)):
            raise WrongType("field", field, "the name of one field of the context")
        self.transformer = transformer
        self.field = None if field is None else str(field)

    def __repr__(self) -> str:
        field = "" if self.field is None else f", {self.field!r}"
        return f"FromTransformer({self.transformer!r}{field})"

    def items(self, values: Context, seen: Vocabulary) -> Items:
        if self.field is None:
            row = self._transformed(values if isinstance(values, dict) else row_of(values))
            return Items([str(place) for place in range(row.size)], row.tolist())
        value = value_at(named(values), self.field)
        if value is None:
            return Items([self.field + MISSING], [1.0])
        row = self._transformed(row_of(value))
        return Items([f"{self.field}[{place}]" for place in range(row.size)], row.tolist())

    def _transformed(self, given: Any) -> FloatArray:
        try:
            found = self.transformer.transform([given])
        except WRONG_INPUT as error:
            name = type(self.transformer).__name__
            expected = f"what {name}.transform takes ({type(error).__name__}: {error})"
            if self.field is None:
                how = "FromTransformer(transformer, field) gives it one field of the context"
                raise InvalidArgument("context", given, f"{expected}; {how}") from error
            raise InvalidArgument(f"context.{self.field}", given, expected) from error
        dense = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
        return vector("transform(context)", np.ravel(dense))


def row_of(value: Plain) -> Any:
    """Return a value as a transformer takes it: a text or a dict as it is, numbers as a row."""
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            return value
        return [np.nan if item is None else item for item in value]
    return value if isinstance(value, str | dict) else [value]
