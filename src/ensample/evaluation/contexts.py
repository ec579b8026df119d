"""Contexts as numbers, for the reward model of DM and DR: numbers as they are, words as indicators.

The columns are read off the first rows of a log and then fixed. Rewards have no part in it.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.types import FloatArray

if TYPE_CHECKING:
    import polars

LARGEST = 1e12  # a number beyond this is no measurement that a mean could use


class ContextColumns:
    """Columns of numbers that stand for a context: at most `limit`, the most frequent ones.

    A column is the value of a field, `age`, or an indicator of a word in a field, `device=phone`.

    >>> seen = [{"age": 31, "device": "phone"}, {"age": 44, "device": "desk", "tags": ["golf"]}]
    >>> columns = ContextColumns.seen_in(seen)
    >>> columns.names
    ['age', 'device=phone', 'device=desk', 'tags=golf']
    >>> columns.matrix([{"age": 20, "device": "desk"}, {"device": "tv"}])
    array([[20.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    def __init__(self, names: list[str], json_type: Any = None) -> None:
        """`json_type`: the dtype of polars that JSON is decoded to; None to decode row by row."""
        self.names = names
        self.json_type = json_type
        self.places = {name: place for place, name in enumerate(names)}

    @classmethod
    def seen_in(cls, contexts: Iterable[Any], limit: int = 50) -> "ContextColumns":
        """Return the columns of some contexts."""
        counts: Counter[str] = Counter()
        types: dict[str, set[type]] = {}
        for context in contexts:
            fields = list(fields_of_context(context))
            counts.update(name for name, _ in numbers_of_fields(fields))
            for field, value in fields:
                types.setdefault(field, set()).add(type(value))
        names = [name for name, _ in counts.most_common(limit)]
        is_uniform = all(len(kinds) == 1 for kinds in types.values())
        return cls(names, inferred_json_type(contexts) if is_uniform else None)

    def matrix(self, contexts: "Iterable[Any] | polars.Series") -> FloatArray:
        """Return [n, p], with 0 for what a context lacks. Reads a Series of polars by column."""
        import polars as pl

        fields = self._series_of_fields(contexts) if isinstance(contexts, pl.Series) else None
        if fields is None or not isinstance(contexts, pl.Series):
            return self._matrix_by_row(contexts)
        values = np.zeros((len(contexts), len(self.names)))
        for place, name in enumerate(self.names):
            field, equals, word = name.partition("=")  # names of fields have no such sign
            if field not in fields:
                continue
            series = fields[field]
            if equals:
                is_list = series.dtype.is_nested()
                has_word = series.list.contains(word) if is_list else series == word
                values[:, place] = has_word.fill_null(False).to_numpy()
            else:
                numbers = series.cast(pl.Float64).fill_null(0.0).to_numpy()
                values[:, place] = np.where(np.abs(numbers) <= LARGEST, numbers, 0.0)
        return values

    def _matrix_by_row(self, contexts: Iterable[Any]) -> FloatArray:
        cells, numbers, places, width = array("q"), array("d"), self.places, len(self.names)
        count = 0
        for context in contexts:
            for name, value in numbers_of_fields(fields_of_context(context)):
                place = places.get(name)
                if place is not None:
                    cells.append(count * width + place)
                    numbers.append(value)
            count += 1
        values = np.zeros(count * width)
        values[np.array(cells, dtype=np.int64)] = np.array(numbers)
        return values.reshape(count, width)

    def _series_of_fields(self, contexts: "polars.Series") -> "dict[str, polars.Series] | None":
        """Return a Series for each field, or None where contexts differ in kind."""
        import polars as pl

        try:
            if contexts.dtype == pl.String:
                if self.json_type is None:
                    return None
                contexts = contexts.str.json_decode(self.json_type)
            return dict(nested_series(contexts, ""))
        except (pl.exceptions.PolarsError, MixedContexts):
            return None


class MixedContexts(Exception):
    """Contexts of different kinds or lengths."""


def numbers_of_fields(fields: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, float]]:
    """Yield (column, number): words as indicators, numbers as they are."""
    for field, value in fields:
        if type(value) is str:
            yield f"{field}={value}", 1.0
        elif isinstance(value, float | int | np.number | np.bool_):
            number = float(value)
            if abs(number) <= LARGEST:  # false for NaN too
                yield field, number


def fields_of_context(context: Any, field: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (field, value), with dots in nested names; the words of a list share a field.

    >>> list(fields_of_context({"user": {"age": 31, "tags": ["golf", "tea"]}, "at": [1.5, 2]}))
    [('user.age', 31), ('user.tags', 'golf'), ('user.tags', 'tea'), ('at.0', 1.5), ('at.1', 2)]
    """
    if field == "" and isinstance(context, str | bytes):
        context = json.loads(context)
    if isinstance(context, dict):
        for name, value in context.items():
            path = f"{field}.{name}" if field else str(name)
            if isinstance(value, str | int | float):
                yield path, value  # the usual case, without a recursive call
            else:
                yield from fields_of_context(value, path)
    elif isinstance(context, list | tuple | np.ndarray) or hasattr(context, "to_list"):
        for place, value in enumerate(context):
            if isinstance(value, str):
                yield field or "value", value
            else:
                yield from fields_of_context(value, f"{field}.{place}".lstrip("."))
    elif context is not None:
        yield field or "value", context


def nested_series(values: "polars.Series", name: str) -> Iterable[tuple[str, "polars.Series"]]:
    """Yield (field, its values in all rows) of a Series of contexts."""
    import polars as pl

    kind: Any = values.dtype
    if kind == pl.Struct:
        for field in kind.fields:
            path = f"{name}.{field.name}".lstrip(".")
            yield from nested_series(values.struct.field(field.name), path)
    elif kind in (pl.List, pl.Array) and kind.inner.is_numeric():
        lengths = values.list.len().unique() if kind == pl.List else [kind.size]
        if len(lengths) != 1 or values.null_count():
            raise MixedContexts
        width = int(lengths[0])
        table = values.explode().to_numpy().reshape(len(values), width)
        for place in range(width):
            yield f"{name}.{place}".lstrip("."), pl.Series(table[:, place])
    elif kind in (pl.String, pl.Boolean, pl.List(pl.String)) or kind.is_numeric():
        yield name or "value", values
    elif kind != pl.Null:
        raise MixedContexts


def inferred_json_type(contexts: Any) -> Any:
    """Return the dtype to which the JSON of all contexts decodes, or None."""
    import polars as pl

    if getattr(contexts, "dtype", None) != pl.String:
        return None
    try:
        return contexts.str.json_decode(infer_schema_length=None).dtype
    except pl.exceptions.PolarsError:
        return None
