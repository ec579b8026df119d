"""What rows add up to: the sums behind every estimate, of all rows or of a segment."""

import math
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ensample.evaluation.estimators import direct, doubly_robust, held_below
from ensample.evaluation.sequences import LowerBound
from ensample.types import FloatArray, IntArray

Interval: TypeAlias = Literal["sequence", "normal"]
NOTHING = math.nan
WEIGHT_EDGES = np.concatenate(([0.0], 2.0 ** np.arange(-6.0, 11.0)))
"""Between which weights are counted: exactly 0, then by factors of 2."""


class Estimate(NamedTuple):
    """A value and the interval around it; both ends are NaN where there is none."""

    value: float
    low: float
    high: float

    def rescaled(self, factor: float, shift: float = 0.0) -> "Estimate":
        """In other units."""
        return Estimate(*(factor * number + shift for number in self))


class Weighed(NamedTuple):
    """Rows with what the target makes of them; rewards are in [0, 1]."""

    rewards: FloatArray  # [n]
    chosen: IntArray  # [n]
    weights: FloatArray  # w [n]
    target: FloatArray  # pi [n, K]
    propensities: FloatArray  # p [n, K], or [n, 1] of which p is known to be no smaller
    predicted: FloatArray  # q [n, K]

    def at(self, which: IntArray) -> "Weighed":
        return Weighed._make(part[which] for part in self)


class EstimateTrack:
    """One estimate: its terms from below, those of the mirrored rewards, and the first two moments."""

    def __init__(self) -> None:
        self.lower, self.upper = LowerBound(), LowerBound()
        self.count, self.total, self.squares = 0, 0.0, 0.0

    @property
    def room(self) -> float:
        """What k may be next without harm."""
        return min(self.lower.room, self.upper.room) - 1.0

    def add(
        self, below: FloatArray, mirrored: FloatArray, terms: FloatArray, least: FloatArray | float
    ) -> None:
        self.lower.add(below, least)
        self.upper.add(mirrored, least)
        self.count += terms.size
        self.total += float(terms.sum())
        self.squares += float(np.square(terms).sum())

    @property
    def mean(self) -> float:
        return self.total / self.count

    def between(self, value: float, alarm: float, interval: Interval, most: float) -> Estimate:
        """`most` is what a mean of the terms and one of the mirrored terms sum up to: 1, or 0 for a difference."""
        if interval == "normal":
            return normal(value, self.mean, self.squares / self.count, self.count, alarm)
        low, high = self.lower.at(alarm / 2), most - self.upper.at(alarm / 2)
        return Estimate(value, min(max(low, most - 1.0), value), max(min(high, 1.0), value))


class RowSums:
    """The sums of some rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.rewards = 0.0
        self.weights, self.squared_weights, self.largest = 0.0, 0.0, 0.0
        self.moments = np.zeros(3)  # of w^2, w^2 r, w^2 r^2
        self.unsupported = 0.0  # target mass where the log has none
        self.counts = np.zeros(
            WEIGHT_EDGES.size + 1, np.int64
        )  # of weights below, between and above the edges
        self.direct = 0.0
        self.ips, self.snips, self.dr, self.lift = (
            EstimateTrack(),
            EstimateTrack(),
            EstimateTrack(),
            EstimateTrack(),
        )

    def add(self, rows: Weighed) -> None:
        """Take in rows that come after those before."""
        w, r = rows.weights, rows.rewards
        self.ips.add(w * r, w * (1.0 - r), w * r, 0.0)
        self.add_baseline(rows)
        terms = doubly_robust(rows.target, rows.predicted, rows.chosen, w, r)
        below, above, least = held(rows, rows.predicted, self.dr.room)
        self.dr.add(below, above, terms, least)
        below, above, least = held(rows, rows.predicted, self.lift.room - 1.0)
        self.lift.add(below - r, above - (1.0 - r), terms - r, least - 1.0)
        self.direct += float(direct(rows.target, rows.predicted).sum())
        self.rows += r.size
        self.rewards += float(r.sum())
        self.weights += float(w.sum())
        self.squared_weights += float(np.square(w).sum())
        self.moments += [np.sum(w * w * r**power) for power in range(3)]
        self.largest = max(self.largest, float(w.max(initial=0.0)))
        self.counts += np.bincount(np.searchsorted(WEIGHT_EDGES, w), minlength=self.counts.size)
        if rows.propensities.shape == rows.target.shape:
            self.unsupported += float(rows.target[rows.propensities <= 0.0].sum())

    def add_baseline(self, rows: Weighed) -> None:
        """SNIPS as terms: w (r - c) + c, with c the SNIPS of the rows before."""
        c = min(self.ips.total / self.weights, 1.0) if self.weights > 0.0 else 0.5
        terms = rows.weights * (rows.rewards - c) + c
        below, above, least = held(rows, np.full(rows.target.shape, c), self.snips.room)
        self.snips.add(below, above, terms, least)

    def estimates(self, alarm: float, interval: Interval) -> dict[str, Estimate]:
        """IPS, SNIPS, DM, DR and the lift over what was logged, for rewards in [0, 1]."""
        n = self.rows
        ratio = self.ips.total / self.weights if self.weights > 0.0 else NOTHING
        return {
            "ips": self.ips.between(self.ips.mean, alarm, interval, 1.0),
            "snips": self.ratio(ratio, alarm)
            if interval == "normal"
            else self.snips.between(ratio, alarm, interval, 1.0),
            "dm": Estimate(self.direct / n, NOTHING, NOTHING),
            "dr": self.dr.between(self.dr.mean, alarm, interval, 1.0),
            "lift": self.lift.between(self.lift.mean, alarm, interval, 0.0),
        }

    def ratio(self, value: float, alarm: float) -> Estimate:
        """The normal interval of SNIPS, by the delta method."""
        squares = self.moments @ np.array([value**2, -2.0 * value, 1.0])
        half = (
            quantile(alarm) * math.sqrt(max(float(squares), 0.0)) / self.weights
            if self.weights > 0.0
            else NOTHING
        )
        return Estimate(value, value - half, value + half)

    @property
    def effective(self) -> float:
        """(sum w)^2 / sum w^2: of how many rows without weights an estimate would be as certain."""
        return self.weights**2 / self.squared_weights if self.squared_weights > 0.0 else 0.0


def held(
    rows: Weighed, predicted: FloatArray, most: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """DR's terms with q held below most/w, those of the rewards 1 - r, and what none of them is below: [n] each."""
    q, other = (
        held_below(each, rows.target, rows.propensities, most)
        for each in (predicted, 1.0 - predicted)
    )
    below = doubly_robust(rows.target, q, rows.chosen, rows.weights, rows.rewards)
    above = doubly_robust(rows.target, other, rows.chosen, rows.weights, 1.0 - rows.rewards)
    return below, above, -np.minimum(largest_weights(rows), most)


def largest_weights(rows: Weighed) -> FloatArray:
    """The largest that a row's weight could have been, whatever was chosen: [n]."""
    ratio = np.full(rows.target.shape, np.inf)
    np.divide(rows.target, rows.propensities, out=ratio, where=rows.propensities > 0.0)
    ratio[rows.target <= 0.0] = 0.0
    largest: FloatArray = ratio.max(axis=1)
    return largest


def quantile(alarm: float) -> float:
    return NormalDist().inv_cdf(1.0 - alarm / 2.0)


def normal(value: float, mean: float, square: float, count: int, alarm: float) -> Estimate:
    spread = math.sqrt(max(square - mean**2, 0.0) / max(count - 1, 1))
    return Estimate(value, value - quantile(alarm) * spread, value + quantile(alarm) * spread)
