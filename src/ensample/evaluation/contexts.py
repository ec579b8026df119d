"""Contexts as numbers, for the reward model of DM and DR: numbers as they are, words by their frequent values.

What the columns stand for is read off the first rows of a log and then fixed. Rewards have no part in it.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.extras import package
from ensample.types import FloatArray

if TYPE_CHECKING:
    import polars


LARGEST = 1e12  # a number beyond this says nothing that a mean could use


class ContextColumns:
    """Which numbers make up a context: at most `limit`, the more frequent first.

    A column is a field's value, `age`, or whether a field is, or has, a word, `device=phone`.

    >>> seen = [{"age": 31, "device": "phone"}, {"age": 44, "device": "desk", "tags": ["golf"]}]
    >>> columns = ContextColumns.seen_in(seen)
    >>> columns.names
    ['age', 'device=phone', 'device=desk', 'tags=golf']
    >>> columns.matrix([{"age": 20, "device": "desk"}, {"device": "tv"}])
    array([[20.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    def __init__(self, names: list[str], kind: Any = None) -> None:
        """`kind`: the dtype that JSON is decoded to."""
        self.names = names
        self.kind = kind
        self.places = {name: place for place, name in enumerate(names)}

    @classmethod
    def seen_in(cls, contexts: Iterable[Any], limit: int = 50) -> "ContextColumns":
        """Those of some contexts."""
        counts: Counter[str] = Counter()
        kinds: dict[str, set[type]] = {}
        for context in contexts:
            found = list(flat(context))
            counts.update(name for name, _ in named_numbers(found))
            for field, value in found:
                kinds.setdefault(field, set()).add(type(value))
        alike = all(len(kind) == 1 for kind in kinds.values())
        return cls(
            [name for name, _ in counts.most_common(limit)], json_kind(contexts) if alike else None
        )

    def matrix(self, contexts: "Iterable[Any] | polars.Series") -> FloatArray:
        """[n, p]; what a context does not have is 0. A Series of polars is read a column at a time."""
        import polars

        columns = leaves(contexts, self.kind) if isinstance(contexts, polars.Series) else None
        if columns is None or not isinstance(contexts, polars.Series):
            return self.one_by_one(contexts)
        values = np.zeros((len(contexts), len(self.names)))
        for place, name in enumerate(self.names):
            values[:, place] = self.column(columns, name, len(values))
        return values

    def column(self, leaves: dict[str, "polars.Series"], name: str, count: int) -> FloatArray:
        """One number of every context."""
        field, equals, word = name.partition("=")  # no field has the sign
        if field not in leaves:
            return np.zeros(count)
        values = leaves[field]
        if equals:
            there = values.list.contains(word) if values.dtype.is_nested() else values == word
            return there.fill_null(False).to_numpy().astype(np.float64)
        numbers = values.cast(package("polars", "evaluate").Float64).fill_null(0.0).to_numpy()
        return np.where(np.abs(numbers) <= LARGEST, numbers, 0.0)

    def one_by_one(self, contexts: Iterable[Any]) -> FloatArray:
        """`matrix` of any contexts."""
        cells, numbers, places, width = array("q"), array("d"), self.places, len(self.names)
        count = 0
        for context in contexts:
            for name, value in entries(context):
                place = places.get(name)
                if place is not None:
                    cells.append(count * width + place)
                    numbers.append(value)
            count += 1
        values = np.zeros(count * width)
        values[np.array(cells, dtype=np.int64)] = np.array(numbers)
        return values.reshape(count, width)


def entries(context: Any) -> Iterable[tuple[str, float]]:
    """The numbers of one context, which may be JSON, a dict or a list of numbers."""
    return named_numbers(flat(context))


def named_numbers(fields: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, float]]:
    """Words as indicators, numbers as they are."""
    for field, value in fields:
        if type(value) is str:
            yield f"{field}={value}", 1.0
        elif (
            isinstance(value, float | int | np.number | np.bool_) and abs(float(value)) <= LARGEST
        ):  # not NaN either
            yield field, float(value)


def flat(context: Any, field: str = "") -> Iterable[tuple[str, Any]]:
    """(field, value) with dots between the names of nested dicts; every item of a list of words is a value of its own.

    >>> list(flat({"user": {"age": 31, "tags": ["golf", "tea"]}, "place": [1.5, 2]}))
    [('user.age', 31), ('user.tags', 'golf'), ('user.tags', 'tea'), ('place.0', 1.5), ('place.1', 2)]
    """
    if field == "" and isinstance(context, str | bytes):
        context = json.loads(context)
    if isinstance(context, dict):
        for name, value in context.items():
            whole = f"{field}.{name}" if field else str(name)
            if isinstance(value, str | int | float):
                yield whole, value  # the usual case, at once
            else:
                yield from flat(value, whole)
    elif isinstance(context, list | tuple | np.ndarray) or hasattr(context, "to_list"):
        for place, value in enumerate(context):
            yield from (
                ((field or "value", value),)
                if isinstance(value, str)
                else flat(value, f"{field}.{place}".lstrip("."))
            )
    elif context is not None:
        yield field or "value", context


def leaves(contexts: Any, kind: Any) -> dict[str, "polars.Series"] | None:
    """The fields of a column of contexts by their names, dots between nested ones; None where they must be read one by one."""
    polars = package("polars", "evaluate")
    try:
        if contexts.dtype == polars.String:
            if kind is None:
                return None
            contexts = contexts.str.json_decode(kind)
        return dict(fields_of(contexts, ""))
    except (polars.exceptions.PolarsError, Mixed):
        return None


class Mixed(Exception):
    """Contexts that are not alike."""


def fields_of(values: "polars.Series", name: str) -> Iterable[tuple[str, "polars.Series"]]:
    polars = package("polars", "evaluate")
    kind: Any = values.dtype
    if kind == polars.Struct:
        for field in kind.fields:
            yield from fields_of(
                values.struct.field(field.name), f"{name}.{field.name}".lstrip(".")
            )
    elif kind in (polars.List, polars.Array) and kind.inner.is_numeric():
        lengths = values.list.len().unique() if kind == polars.List else [kind.size]
        if len(lengths) != 1 or values.null_count():
            raise Mixed
        width = int(lengths[0])
        table = values.explode().to_numpy().reshape(len(values), width)
        for place in range(width):
            yield f"{name}.{place}".lstrip("."), polars.Series(table[:, place])
    elif (
        kind == polars.String
        or kind.is_numeric()
        or kind == polars.Boolean
        or kind == polars.List(polars.String)
    ):
        yield name or "value", values
    elif kind != polars.Null:
        raise Mixed


def json_kind(contexts: Any) -> Any:
    """What the JSON of some contexts is decoded to; None where it is no JSON, or of several kinds."""
    polars = package("polars", "evaluate")
    if getattr(contexts, "dtype", None) != polars.String:
        return None
    try:
        return contexts.str.json_decode(infer_schema_length=None).dtype
    except polars.exceptions.PolarsError:
        return None
