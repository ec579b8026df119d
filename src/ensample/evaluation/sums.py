"""Sums over rows, from which estimates follow: of a whole log and of each segment."""

import json
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.evaluation.contexts import fields_of_context
from ensample.evaluation.estimators import direct, doubly_robust, held_below
from ensample.evaluation.log import LoggedData, LogRows
from ensample.evaluation.options import Interval
from ensample.evaluation.sequences import LowerBound
from ensample.registry import one_of
from ensample.types import FloatArray, IntArray

WEIGHT_EDGES = np.concatenate(([0.0], 2.0 ** np.arange(-6.0, 11.0)))
"""Edges of the bins in which weights are counted: exactly 0, then by factors of 2."""

CONTEXT = "context."
HEAD = 1_000  # rows from which the fields of contexts are read
MOST_SEGMENTS = 10_000


class Estimate(NamedTuple):
    """A value and the interval around it; both ends are NaN where there is none."""

    value: float
    low: float
    high: float

    def rescaled(self, factor: float, shift: float = 0.0) -> "Estimate":
        """Return the estimate in other units."""
        return Estimate(*(factor * number + shift for number in self))


class WeighedRows(NamedTuple):
    """Rows with the target's probabilities and predicted rewards; rewards are in [0, 1]."""

    rewards: FloatArray  # [n]
    chosen: IntArray  # [n]
    weights: FloatArray  # w [n]
    target: FloatArray  # pi [n, K]
    propensities: FloatArray  # p [n, K], or a lower bound of p [n, 1]
    predicted: FloatArray  # q [n, K]

    def at(self, which: IntArray) -> "WeighedRows":
        return WeighedRows._make(part[which] for part in self)


class EstimateSums:
    """Sums for one estimate: both one-sided bounds, and the first two moments of its terms."""

    def __init__(self) -> None:
        self.lower, self.upper = LowerBound(), LowerBound()
        self.count, self.total, self.squares = 0, 0.0, 0.0

    @property
    def room(self) -> float:
        """Largest k of the next row that costs no width."""
        return min(self.lower.room, self.upper.room) - 1.0

    def add(
        self, below: FloatArray, mirrored: FloatArray, terms: FloatArray, least: FloatArray | float
    ) -> None:
        """Add terms, with those for the lower bound and those of 1 - r for the upper bound."""
        self.lower.add(below, least)
        self.upper.add(mirrored, least)
        self.count += terms.size
        self.total += float(terms.sum())
        self.squares += float(np.square(terms).sum())

    @property
    def mean(self) -> float:
        return self.total / self.count

    def estimate(self, value: float, alarm: float, interval: Interval, most: float) -> Estimate:
        """Return the estimate; `most` is the mean of terms plus that of mirrored terms (1 or 0)."""
        if interval == "normal":
            variance = max(self.squares / self.count - self.mean**2, 0.0)
            half = quantile(alarm) * math.sqrt(variance / max(self.count - 1, 1))
            return Estimate(value, value - half, value + half)
        low, high = self.lower.at(alarm / 2), most - self.upper.at(alarm / 2)
        return Estimate(value, min(max(low, most - 1.0), value), max(min(high, 1.0), value))


class RowSums:
    """Sums over rows, which come in the order of the log."""

    def __init__(self) -> None:
        self.rows = 0
        self.rewards = 0.0
        self.weights, self.squared_weights, self.largest = 0.0, 0.0, 0.0
        self.moments = np.zeros(3)  # of w^2, w^2 r, w^2 r^2
        self.unsupported = 0.0  # mass of the target where propensities are 0
        self.weight_counts = np.zeros(WEIGHT_EDGES.size + 1, np.int64)
        self.direct = 0.0
        self.ips, self.snips, self.dr, self.lift = (EstimateSums() for _ in range(4))

    def add(self, rows: WeighedRows) -> None:
        w, r = rows.weights, rows.rewards
        self.ips.add(w * r, w * (1.0 - r), w * r, 0.0)
        self._add_snips(rows)
        terms = doubly_robust(rows.target, rows.predicted, rows.chosen, w, r)
        below, above, least = held_terms(rows, rows.predicted, self.dr.room)
        self.dr.add(below, above, terms, least)
        below, above, least = held_terms(rows, rows.predicted, self.lift.room - 1.0)
        self.lift.add(below - r, above - (1.0 - r), terms - r, least - 1.0)
        self.direct += float(direct(rows.target, rows.predicted).sum())
        self.rows += r.size
        self.rewards += float(r.sum())
        self.weights += float(w.sum())
        self.squared_weights += float(np.square(w).sum())
        self.moments += [np.sum(w * w * r**power) for power in range(3)]
        self.largest = max(self.largest, float(w.max(initial=0.0)))
        bins = np.searchsorted(WEIGHT_EDGES, w)
        self.weight_counts += np.bincount(bins, minlength=self.weight_counts.size)
        if rows.propensities.shape == rows.target.shape:
            self.unsupported += float(rows.target[rows.propensities <= 0.0].sum())

    def _add_snips(self, rows: WeighedRows) -> None:
        """Add SNIPS as terms w (r - c) + c, with c the SNIPS of the rows before."""
        c = min(self.ips.total / self.weights, 1.0) if self.weights > 0.0 else 0.5
        terms = rows.weights * (rows.rewards - c) + c
        below, above, least = held_terms(rows, np.full(rows.target.shape, c), self.snips.room)
        self.snips.add(below, above, terms, least)

    def estimates(self, alarm: float, interval: Interval) -> dict[str, Estimate]:
        """Return IPS, SNIPS, DM, DR and the lift over what was logged, for rewards in [0, 1]."""
        ratio = self.ips.total / self.weights if self.weights > 0.0 else math.nan
        snips = self.snips.estimate(ratio, alarm, interval, 1.0)
        if interval == "normal":
            snips = self._normal_snips(ratio, alarm)
        return {
            "ips": self.ips.estimate(self.ips.mean, alarm, interval, 1.0),
            "snips": snips,
            "dm": Estimate(self.direct / self.rows, math.nan, math.nan),
            "dr": self.dr.estimate(self.dr.mean, alarm, interval, 1.0),
            "lift": self.lift.estimate(self.lift.mean, alarm, interval, 0.0),
        }

    def _normal_snips(self, value: float, alarm: float) -> Estimate:
        """Return SNIPS with a normal interval, by the delta method."""
        if self.weights <= 0.0:
            return Estimate(value, math.nan, math.nan)
        squares = float(self.moments @ np.array([value**2, -2.0 * value, 1.0]))
        half = quantile(alarm) * math.sqrt(max(squares, 0.0)) / self.weights
        return Estimate(value, value - half, value + half)

    @property
    def effective_rows(self) -> float:
        """(sum w)^2 / sum w^2: the number of unweighted rows with the same variance."""
        return self.weights**2 / self.squared_weights if self.squared_weights > 0.0 else 0.0


def held_terms(
    rows: WeighedRows, predicted: FloatArray, most: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return DR's terms with q held below most/w, those of 1 - r, and their least: [n]."""
    q, mirrored = (
        held_below(each, rows.target, rows.propensities, most)
        for each in (predicted, 1.0 - predicted)
    )
    below = doubly_robust(rows.target, q, rows.chosen, rows.weights, rows.rewards)
    above = doubly_robust(rows.target, mirrored, rows.chosen, rows.weights, 1.0 - rows.rewards)
    ratio = np.full(rows.target.shape, np.inf)  # the weight that each action would have had
    np.divide(rows.target, rows.propensities, out=ratio, where=rows.propensities > 0.0)
    ratio[rows.target <= 0.0] = 0.0
    return below, above, -np.minimum(ratio.max(axis=1), most)


def quantile(alarm: float) -> float:
    return NormalDist().inv_cdf(1.0 - alarm / 2.0)


class SegmentSums:
    """Sums for each value of a column, or of a field of the contexts."""

    def __init__(self, name: str, data: LoggedData) -> None:
        self.name, self.parts = name, dict[str, RowSums]()
        fields = first_fields(data)
        if name not in data.columns and name.removeprefix(CONTEXT) not in fields:
            there = one_of(name, [*data.columns, *fields])
            expected = f"a column of the log, or a field of its contexts: {there}"
            raise InvalidArgument("segments", name, expected)

    def add(self, weighed: WeighedRows, rows: LogRows) -> None:
        values = np.array(self.values(rows))
        for value in dict.fromkeys(values.tolist()):
            if value not in self.parts and len(self.parts) >= MOST_SEGMENTS:
                expected = f"at most {MOST_SEGMENTS:,} different values"
                raise InvalidArgument("segments", self.name, expected)
            part = self.parts.setdefault(value, RowSums())
            part.add(weighed.at(np.flatnonzero(values == value)))

    def values(self, rows: LogRows) -> list[str]:
        """Return the segment of each row, as text."""
        if self.name in rows.frame.columns:
            return [str(value) for value in rows.frame[self.name].to_list()]
        path = self.name.removeprefix(CONTEXT).split(".")
        return [as_text(value_at(context, path)) for context in rows.raw_contexts()]


def first_fields(data: LoggedData) -> list[str]:
    """Return the fields of the first contexts, with dots between the names of nested ones."""
    if "context" not in data.columns:
        return []
    contexts = data.source.select("context").head(HEAD).collect().to_series().to_list()
    return list(dict.fromkeys(name for each in contexts for name, _ in fields_of_context(each)))


def value_at(context: Any, path: list[str]) -> Any:
    """Return what a path leads to, items of lists by number; None where it leads nowhere.

    >>> value_at({"user": {"device": "phone"}}, ["user", "device"])
    'phone'
    """
    for place, part in enumerate(path):
        if isinstance(context, dict):
            rest = ".".join(path[place:])  # a name may have dots of its own
            if rest in context:
                return context[rest]
            context = context.get(part)
        elif isinstance(context, list) and part.isdecimal() and int(part) < len(context):
            context = context[int(part)]
        else:
            return None
    return context


def as_text(value: Any) -> str:
    to_text: Callable[[Any], str] = json.dumps if isinstance(value, dict | list) else str
    return to_text(value)
