"""Features of a context, or of one of its fields, by a fitted transformer of scikit-learn."""

from typing import Any, ClassVar

import numpy as np

from ensample.checks import vector
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoder import MISSING, Encoder, Items, named
from ensample.experiments.features.names import found_at
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import Plain, PlainDict
from ensample.types import FloatArray

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
