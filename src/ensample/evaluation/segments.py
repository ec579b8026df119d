"""By what a log is told apart: a column, or a field of the contexts."""

import json
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, WrongType
from ensample.evaluation.contexts import flat
from ensample.evaluation.logged import LoggedData, LogRows
from ensample.evaluation.tally import RowSums, Weighed
from ensample.registry import one_of

CONTEXT = "context."
HEAD = 1_000  # rows that say which fields contexts have
MOST = 10_000  # segments


class Segments:
    """The sums of each value of a column or field, each by itself; none where `name` is None."""

    def __init__(self, name: str | None, data: LoggedData) -> None:
        self.name, self.parts = name, dict[str, RowSums]()
        if name is not None:
            self.check(name, data)

    def check(self, name: str, data: LoggedData) -> None:
        """Raise unless the log has such a column, or its first contexts such a field."""
        if not isinstance(name, str):
            raise WrongType("segments", name, "the name of a column, or of a field of the contexts")
        if name not in data.columns and name.removeprefix(CONTEXT) not in fields_of(data):
            there = [*data.columns, *fields_of(data)]
            raise InvalidArgument(
                "segments",
                name,
                f"a column of the log, or a field of its contexts: {one_of(name, there)}",
            )

    def add(self, weighed: Weighed, rows: LogRows) -> None:
        """The rows of each segment to its own sums."""
        if self.name is None:
            return
        values = np.array(values_of(self.name, rows))
        for value in dict.fromkeys(values.tolist()):
            if value not in self.parts and len(self.parts) >= MOST:
                raise InvalidArgument("segments", self.name, f"at most {MOST:,} different values")
            self.parts.setdefault(value, RowSums()).add(weighed.at(np.flatnonzero(values == value)))


def fields_of(data: LoggedData) -> list[str]:
    """Those of the first contexts, dots between the names of nested ones."""
    if "context" not in data.columns:
        return []
    contexts = data.source.select("context").head(HEAD).collect().to_series().to_list()
    return list(dict.fromkeys(field for context in contexts for field, _ in flat(context)))


def values_of(name: str, rows: LogRows) -> list[str]:
    """One for each row, as text."""
    if name in rows.frame.columns:
        return [str(value) for value in rows.frame[name].to_list()]
    path = name.removeprefix(CONTEXT).split(".")
    return [as_text(found_in(context, path)) for context in rows.raw_contexts()]


def found_in(context: Any, path: list[str]) -> Any:
    """What a path leads to, entries of lists by number; None where it leads nowhere.

    >>> found_in({"user": {"device": "phone"}}, ["user", "device"])
    'phone'
    """
    for place, part in enumerate(path):
        if isinstance(context, dict):
            whole = ".".join(path[place:])  # a name may have dots of its own
            if whole in context:
                return context[whole]
            context = context.get(part)
        elif isinstance(context, list) and part.isdecimal() and int(part) < len(context):
            context = context[int(part)]
        else:
            return None
    return context


def as_text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else json.dumps(value)
        if isinstance(value, dict | list)
        else str(value)
    )
