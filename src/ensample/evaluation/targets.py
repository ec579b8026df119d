"""The policy that is asked about: the probability with which it would have chosen each action on offer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, WrongType
from ensample.evaluation.answers import arguments_of, shares_of
from ensample.evaluation.logged import LoggedData, LogRows
from ensample.evaluation.offering import offering
from ensample.types import FloatArray

EXPECTED = '"uniform", "logged", "action:NAME", a function, a recipe, a policy or an experiment'


class Target(ABC):
    """A policy as evaluation sees it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For tables."""

    @abstractmethod
    def probabilities(self, rows: LogRows) -> FloatArray:
        """pi(a|x) of the rows, which come in the log's order: [n, K]. It may depend on rows before, not on these rewards."""

    def learn(self, rows: LogRows) -> None:  # noqa: B027 (most do not)
        """Take in the rewards of rows whose probabilities were given."""

    def caution(self, data: LoggedData) -> str:
        """What one should know before one believes the numbers; of most there is nothing to say."""
        return ""


@dataclass(frozen=True)
class UniformTarget(Target):
    """Every action on offer with the same probability."""

    @property
    def name(self) -> str:
        return "uniform"

    def probabilities(self, rows: LogRows) -> FloatArray:
        shares: FloatArray = rows.offered / rows.offered.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True)
class LoggedTarget(Target):
    """The policy that wrote the log. Where its propensities are not known, what it chose stands for them."""

    @property
    def name(self) -> str:
        return "logged"

    def probabilities(self, rows: LogRows) -> FloatArray:
        return rows.drawn if rows.propensities is None else rows.propensities


@dataclass(frozen=True)
class ActionTarget(Target):
    """One action always; where it is not on offer, what was logged."""

    action: str

    @property
    def name(self) -> str:
        return f"action:{self.action}"

    def probabilities(self, rows: LogRows) -> FloatArray:
        if self.action not in rows.names:
            raise InvalidArgument(
                "target", self.name, f"an action of the log: {', '.join(rows.names[:20])}"
            )
        number = rows.names.index(self.action)
        there = rows.offered[:, number]
        certain = np.zeros(rows.offered.shape)
        certain[there, number] = 1.0
        if there.all():
            return certain
        if rows.propensities is None:
            missing = f"row {rows.places[np.argmin(there)]:,} does not, and there one must know the propensities of all actions"
            raise InvalidArgument(
                "target", self.name, f"an action that every row of the log offers: {missing}"
            )
        return np.where(there[:, None], certain, rows.propensities)

    def caution(self, data: LoggedData) -> str:
        seen = offering(data.source, self.action) if "offer" in data.columns else None
        if seen is None or not seen.without:
            return ""
        there = (
            "" if seen.interrupted else f", all of them before row {seen.first:,} (counted from 0)"
        )
        rows = (
            f'log.filter(pl.col("offer").list.contains("{self.action}"))'
            if seen.interrupted
            else f"log[{seen.first}:]"
        )
        return (
            f"{self.action} was not on offer in {seen.without:,} of {seen.rows:,} rows{there}: there the target is what "
            f"was logged, and the estimates mix the two. For {self.action} alone evaluate the rows that offer it: {rows}"
        )


class FunctionTarget(Target):
    """A function of what was known: contexts, the names of all actions, and each row's offer with its features.

    It is told as many of these as it takes, and answers with probabilities [n, K], or a name or a dict of names for each row.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.takes = function, arguments_of(function)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def probabilities(self, rows: LogRows) -> FloatArray:
        known = (rows.raw_contexts, lambda: rows.names, rows.raw_offers)[: self.takes]
        told = [each() for each in known]
        try:
            answers = self.function(*told)
        except (TypeError, AttributeError, KeyError) as error:
            if "context" in rows.frame.columns:
                raise
            said = f"without it a function is told None for each context ({type(error).__name__}: {error})"
            expected = f'a column `context`, or several that make it up, columns={{"context": ["age", "country"]}}: {said}'
            raise InvalidArgument("log", rows.frame.columns, expected) from error
        return shares_of(answers, rows)


def as_target(target: Any) -> Target:
    """`uniform`, `logged`, `action:NAME`, a function, or a Target of your own."""
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
        itself = ", itself rather than its text" if "(" in target else ""
        raise InvalidArgument("target", target, EXPECTED + itself)
    if callable(target):
        return FunctionTarget(target)
    raise WrongType("target", target, EXPECTED)
