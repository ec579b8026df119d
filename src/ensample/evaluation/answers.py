"""A policy that is a function: what it is told of the rows, and what it may answer."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, WrongType
from ensample.evaluation.logged import LogRows
from ensample.frames import is_frame
from ensample.types import FloatArray

SLACK = 1e-6  # by which probabilities may miss 1
SHOWN = 20  # names in a message


def arguments_of(function: Callable[..., Any]) -> int:
    """How many of (contexts, names, offers) a function is told: those it cannot do without, and the first two if it can.

    >>> arguments_of(lambda contexts, names, scale=2: ...), arguments_of(lambda contexts, names, offers: ...)
    (2, 3)
    """
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of some that are written in C nobody knows
        return 2
    own = [
        item for item in given if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)
    ]
    most = 2 if any(item.kind is item.VAR_POSITIONAL for item in given) else min(len(own), 2)
    count = max(most, sum(item.default is item.empty for item in own))
    if not 1 <= count <= 3:
        raise WrongType(
            "target",
            function,
            "a function of (contexts), (contexts, names) or (contexts, names, offers)",
        )
    return count


def shares_of(given: Any, rows: LogRows) -> FloatArray:
    """Probabilities [n, K] from an answer: as such, or for each row a name, or a dict of names and probabilities."""
    answers = by_row(given)
    shares = as_matrix(given, rows) if answers is None else from_names(answers, rows)
    right = (shares >= 0.0).all(axis=1) & (np.abs(shares.sum(axis=1) - 1.0) <= SLACK)
    if not right.all():
        wrong = int(np.argmin(right))
        answer = shares[wrong] if answers is None else answers[wrong]
        raise InvalidArgument(
            at(rows, wrong), answer, "numbers >= 0 whose sum over the actions is 1"
        )
    return shares


def by_row(given: Any) -> list[Any] | None:
    """The rows' answers where these are names or dicts."""
    if (
        isinstance(given, Iterator)
        or is_frame(given)
        or (isinstance(given, np.ndarray) and given.dtype.kind in "biuf")
    ):
        return None
    answers = (
        list(given) if hasattr(given, "__iter__") and not isinstance(given, str | Mapping) else []
    )
    return answers if any(isinstance(answer, str | Mapping) for answer in answers) else None


def as_matrix(given: Any, rows: LogRows) -> FloatArray:
    expected = f"probabilities of shape {rows.offered.shape}, rows by actions, or a name or a dict of names for each row"
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("target(...)", given, expected) from None
    if shares.shape != rows.offered.shape:
        raise InvalidArgument("target(...)", given, expected)
    return shares


def from_names(answers: list[Any], rows: LogRows) -> FloatArray:
    """A name is chosen with certainty; what a dict leaves out, never."""
    if len(answers) != len(rows.chosen):
        raise InvalidArgument(
            "target(...)",
            answers,
            f"an answer for each of {len(rows.chosen)} rows, not {len(answers)}",
        )
    shares, numbers = (
        np.zeros(rows.offered.shape),
        {name: number for number, name in enumerate(rows.names)},
    )
    for row, answer in enumerate(answers):
        if not isinstance(answer, str | Mapping):
            raise InvalidArgument(
                at(rows, row), answer, "a name, or a dict of names and probabilities"
            )
        for name, share in (answer if isinstance(answer, Mapping) else {answer: 1.0}).items():
            number = numbers.get(name)
            if number is None or not rows.offered[row, number]:
                there = ", ".join(
                    rows.names[place] for place in np.flatnonzero(rows.offered[row])[:SHOWN]
                )
                raise InvalidArgument(at(rows, row), name, f"an action on offer there: {there}")
            shares[row, number] = as_share(share, at(rows, row))
    return shares


def as_share(share: Any, where: str) -> float:
    try:
        return float(share)
    except (TypeError, ValueError):
        raise InvalidArgument(where, share, "a probability") from None


def at(rows: LogRows, row: int) -> str:
    """Where in the log, counted from 0."""
    return f"target(...) in row {rows.places[row]}"
