"""Policies to evaluate: the probability with which each would have chosen each action on offer."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, WrongType
from ensample.evaluation.log import LoggedData, LogRows
from ensample.evaluation.log_checks import offering
from ensample.frames import is_frame
from ensample.types import FloatArray

EXPECTED = '"uniform", "logged", "action:NAME", a function, a recipe, a policy or an experiment'
SLACK = 1e-6  # error of a sum of probabilities
MOST_NAMES = 20  # in a message


class Target(ABC):
    """A policy as evaluation sees it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in tables."""

    @abstractmethod
    def probabilities(self, rows: LogRows) -> FloatArray:
        """Return pi(a|x) of the next rows, [n, K]. It may depend on earlier rows only."""

    def learn(self, rows: LogRows) -> None:  # noqa: B027 (most do not)
        """Learn from the rewards of rows whose probabilities were given."""

    def warning(self, data: LoggedData) -> str:
        """Return what to know before the numbers are believed; nothing for most targets."""
        return ""


@dataclass(frozen=True)
class UniformTarget(Target):
    """Chooses every action on offer with the same probability."""

    @property
    def name(self) -> str:
        return "uniform"

    def probabilities(self, rows: LogRows) -> FloatArray:
        shares: FloatArray = rows.offered / rows.offered.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True)
class LoggedTarget(Target):
    """Policy that wrote the log; what it chose stands for unknown propensities."""

    @property
    def name(self) -> str:
        return "logged"

    def probabilities(self, rows: LogRows) -> FloatArray:
        return rows.drawn if rows.propensities is None else rows.propensities


@dataclass(frozen=True)
class ActionTarget(Target):
    """Always the same action; where it is not on offer, what was logged."""

    action: str

    @property
    def name(self) -> str:
        return f"action:{self.action}"

    def probabilities(self, rows: LogRows) -> FloatArray:
        if self.action not in rows.names:
            expected = f"an action of the log: {', '.join(rows.names[:MOST_NAMES])}"
            raise InvalidArgument("target", self.name, expected)
        number = rows.names.index(self.action)
        there = rows.offered[:, number]
        certain = np.zeros(rows.offered.shape)
        certain[there, number] = 1.0
        if there.all():
            return certain
        if rows.propensities is None:
            row = f"row {rows.places[np.argmin(there)]:,} does not"
            reason = f"{row}, and there one must know the propensities of all actions"
            expected = f"an action that every row of the log offers: {reason}"
            raise InvalidArgument("target", self.name, expected)
        return np.where(there[:, None], certain, rows.propensities)

    def warning(self, data: LoggedData) -> str:
        if not data.summary.has_offers:
            return ""
        seen = offering(data.source, self.action)
        if not seen.without:
            return ""
        if seen.interrupted:
            before, rows = "", f'log.filter(pl.col("offer").list.contains("{self.action}"))'
        else:
            before = f", all of them before row {seen.first:,} (counted from 0)"
            rows = f"log[{seen.first}:]"
        return (
            f"{self.action} was not on offer in {seen.without:,} of {seen.rows:,} rows{before}: "
            "there the target is what was logged, and the estimates mix the two. "
            f"For {self.action} alone evaluate the rows that offer it: {rows}"
        )


class FunctionTarget(Target):
    """A function of contexts, the names of all actions, and each row's offer with its features.

    It is called with as many of these as it takes, and returns probabilities [n, K], or for each
    row a name or a dict of names and probabilities.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.argument_count = function, count_arguments(function)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def probabilities(self, rows: LogRows) -> FloatArray:
        facts = (rows.raw_contexts, lambda: rows.names, rows.raw_offers)[: self.argument_count]
        arguments = [fact() for fact in facts]
        try:
            answers = self.function(*arguments)
        except (TypeError, AttributeError, KeyError) as error:
            if "context" in rows.frame.columns:
                raise
            reason = f"without it each context is None ({type(error).__name__}: {error})"
            example = 'columns={"context": ["age", "country"]}'
            expected = f"a column `context`, or several that make it up, {example}: {reason}"
            raise InvalidArgument("log", rows.frame.columns, expected) from error
        return as_probabilities(answers, rows)


def as_target(target: Any) -> Target:
    """Return the target for a word, a function, or a Target of the user's own."""
    if isinstance(target, Target):
        return target
    if isinstance(target, str):
        kind, _, rest = target.partition(":")
        if target == "uniform":
            return UniformTarget()
        if target == "logged":
            return LoggedTarget()
        if kind == "action" and rest:
            return ActionTarget(rest)
        hint = ", itself rather than its text" if "(" in target else ""
        raise InvalidArgument("target", target, EXPECTED + hint)
    if callable(target):
        return FunctionTarget(target)
    raise WrongType("target", target, EXPECTED)


def count_arguments(function: Callable[..., Any]) -> int:
    """Count the arguments to call a function with: two, or as many as it needs.

    >>> count_arguments(lambda contexts, names, scale=2: ...)
    2
    >>> count_arguments(lambda contexts, names, offers: ...)
    3
    """
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return 2
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [item for item in given if item.kind in by_place]
    takes_any = any(item.kind is item.VAR_POSITIONAL for item in given)
    optional = 2 if takes_any else min(len(own), 2)
    count = max(optional, sum(item.default is item.empty for item in own))
    if not 1 <= count <= 3:
        expected = "a function of (contexts), (contexts, names) or (contexts, names, offers)"
        raise WrongType("target", function, expected)
    return count


def as_probabilities(given: Any, rows: LogRows) -> FloatArray:
    """Return probabilities [n, K] from an array, or from a name or dict for each row."""
    answers = row_answers(given)
    shares = as_matrix(given, rows) if answers is None else from_names(answers, rows)
    is_right = (shares >= 0.0).all(axis=1) & (np.abs(shares.sum(axis=1) - 1.0) <= SLACK)
    if not is_right.all():
        wrong = int(np.argmin(is_right))
        answer = shares[wrong] if answers is None else answers[wrong]
        expected = "numbers >= 0 whose sum over the actions is 1"
        raise InvalidArgument(row_name(rows, wrong), answer, expected)
    return shares


def row_answers(given: Any) -> list[Any] | None:
    """Return an answer as a list where its items are names or dicts, else None."""
    is_numeric = isinstance(given, np.ndarray) and given.dtype.kind in "biuf"
    if isinstance(given, Iterator | str | Mapping) or is_frame(given) or is_numeric:
        return None
    answers = list(given) if hasattr(given, "__iter__") else []
    return answers if any(isinstance(answer, str | Mapping) for answer in answers) else None


def as_matrix(given: Any, rows: LogRows) -> FloatArray:
    shape = f"probabilities of shape {rows.offered.shape}, rows by actions"
    expected = f"{shape}, or a name or a dict of names for each row"
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("target(...)", given, expected) from None
    if shares.shape != rows.offered.shape:
        raise InvalidArgument("target(...)", given, expected)
    return shares


def from_names(answers: list[Any], rows: LogRows) -> FloatArray:
    """Return probabilities: a name has 1, what a dict leaves out 0."""
    if len(answers) != len(rows.chosen):
        expected = f"an answer for each of {len(rows.chosen)} rows, not {len(answers)}"
        raise InvalidArgument("target(...)", answers, expected)
    shares = np.zeros(rows.offered.shape)
    numbers = {name: number for number, name in enumerate(rows.names)}
    for row, answer in enumerate(answers):
        where = row_name(rows, row)
        if not isinstance(answer, str | Mapping):
            raise InvalidArgument(where, answer, "a name, or a dict of names and probabilities")
        for name, share in (answer if isinstance(answer, Mapping) else {answer: 1.0}).items():
            number = numbers.get(name)
            if number is None or not rows.offered[row, number]:
                places = np.flatnonzero(rows.offered[row])[:MOST_NAMES]
                there = ", ".join(rows.names[place] for place in places)
                raise InvalidArgument(where, name, f"an action on offer there: {there}")
            try:
                shares[row, number] = float(share)
            except (TypeError, ValueError):
                raise InvalidArgument(where, share, "a probability") from None
    return shares


def row_name(rows: LogRows, row: int) -> str:
    """Return the name in errors of a row, counted from 0 in the log."""
    return f"target(...) in row {rows.places[row]}"
