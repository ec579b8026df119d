"""Anytime-valid test that actions were drawn with the propensities that a log has.

If they are, X_t = 1{A_t = k} - p_tk has mean 0 given the past, so that S = sum X_t is a martingale,
of variance at most V = sum p_tk (1 - p_tk). As |X_t| <= 1, Bennett's inequality makes

    M_t(l) = exp( l S_t - V_t (e^l - 1 - l) ),   l > 0,

a supermartingale, as is an average of several of them. By Ville's inequality the average passes
1/alpha with probability at most alpha, ever. What passes is a mistake of the log, however often one
looks: a floor that was forgotten, two columns exchanged, a propensity of another version of the
model. The same for -S. Where actions come and go, number j of them has the part 1 / (j (j + 1)) of
the alarm, half of it a side; these sum up to 1.

Mistakes that even out over the decisions of an action show by height: of the actions whose
propensity lies between two edges, as many are chosen as their propensities sum up to. `by_height`
makes such rows, to which the same applies.

References: G. Bennett, "Probability inequalities for the sum of independent random variables",
Journal of the American Statistical Association 57 (1962); D. A. Freedman, "On tail probabilities
for martingales", Annals of Probability 3 (1975); S. R. Howard, A. Ramdas, J. McAuliffe and J.
Sekhon, "Time-uniform Chernoff bounds via nonnegative supermartingales", Probability Surveys 17
(2020).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ensample.types import FloatArray, IntArray

RATES = 2.0 ** np.arange(1.0, -14.0, -1.0)
"""l: from single rows of an action that is never chosen to differences of a few in ten million
rows."""
PENALTIES = np.expm1(RATES) - RATES
HALVINGS = 60
HEIGHTS = np.array([0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99])
"""The edges between heights of propensities; an edge belongs to what is below."""
SLACK = 1e-6  # by which probabilities may miss a sum of 1


class Standing(NamedTuple):
    """Test of one action."""

    name: str
    chosen: int
    expected: float  # sum p
    difference: float  # S
    bound: float  # what |S| stays below
    passed: int | None  # the number of rows at which it was seen to be above it, if ever


class PropensityCheck:
    """Test of the propensities of rows added in the log's order; keeps two sums an action.

    >>> check = PropensityCheck()
    >>> check.add(("a", "b"), np.full((400, 2), 0.5), np.zeros(400, int))
    >>> check.holds, check.standings()[0].passed
    (False, 400)
    >>> check = PropensityCheck()
    >>> check.add(("a", "b"), np.full((400, 2), 0.5), np.arange(400) % 2)
    >>> check.holds
    True
    """

    def __init__(self, alarm: float = 0.01) -> None:
        self.alarm = alarm
        self.rows = 0
        self.impossible = 0  # rows that no probabilities are behind
        self._places: dict[str, int] = {}
        self._chosen, self._expected, self._variance = np.zeros(0), np.zeros(0), np.zeros(0)
        self._passed: list[int | None] = []

    def add(self, names: Sequence[str], propensities: FloatArray, chosen: IntArray) -> None:
        """Add rows of the same offer: propensities [n, K] and places of chosen actions [n]."""
        if not len(chosen):
            return
        self.rows += len(chosen)
        possible = (propensities >= 0.0).all(axis=1) & (
            np.abs(propensities.sum(axis=1) - 1.0) <= SLACK
        )
        self.impossible += int(
            (~possible | (propensities[np.arange(len(chosen)), chosen] <= 0.0)).sum()
        )
        p, own = np.minimum(propensities[possible], 1.0), self._places_of(names)
        np.add.at(self._chosen, own, np.bincount(chosen[possible], minlength=len(own)))
        np.add.at(self._expected, own, p.sum(axis=0))
        np.add.at(self._variance, own, (p * (1.0 - p)).sum(axis=0))
        over = self._growth(own) > self._needed(own)
        for place in own[over]:
            if self._passed[place] is None:
                self._passed[place] = self.rows

    def _places_of(self, names: Sequence[str]) -> IntArray:
        own = np.array(
            [self._places.setdefault(name, len(self._places)) for name in names], np.int64
        )
        new = len(self._places) - len(self._passed)
        if new:
            self._passed += [None] * new
            self._chosen, self._expected, self._variance = (
                np.concatenate((sums, np.zeros(new)))
                for sums in (self._chosen, self._expected, self._variance)
            )
        return own

    def _growth(self, places: IntArray) -> FloatArray:
        """Return log sum_l M(l) for the sign of S."""
        size = np.abs(self._chosen[places] - self._expected[places])
        return log_sums(size, self._variance[places])

    def _needed(self, places: IntArray) -> FloatArray:
        number = places + 1.0
        needed: FloatArray = np.log(2.0 * RATES.size / self.alarm * number * (number + 1.0))
        return needed

    @property
    def holds(self) -> bool:
        """True if nothing was seen that has probability below `alarm` for right propensities."""
        return not self.impossible and all(passed is None for passed in self._passed)

    def standings(self) -> list[Standing]:
        """Return the test of each action, in the order of their first rows."""
        places = np.arange(len(self._passed))
        bounds = bounds_of(self._variance, self._needed(places))
        differences = self._chosen - self._expected
        return [
            Standing(
                name,
                int(self._chosen[k]),
                float(self._expected[k]),
                float(differences[k]),
                float(bounds[k]),
                passed,
            )
            for (name, k), passed in zip(self._places.items(), self._passed, strict=True)
        ]


def by_height(propensities: FloatArray, chosen: IntArray) -> tuple[FloatArray, IntArray]:
    """Return sums of propensities by height [n, 10], and the height of the chosen action [n].

    >>> sums, heights = by_height(np.array([[0.05, 0.05, 0.9]]), np.array([1]))
    >>> sums.round(3).tolist(), heights
    ([[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0]], array([2]))
    """
    rows, height = np.arange(len(chosen)), np.searchsorted(HEIGHTS, propensities - 1e-12)
    sums = np.zeros((len(chosen), HEIGHTS.size + 1))
    np.add.at(sums, (rows[:, None], height), propensities)
    return sums, height[rows, chosen]


def log_sums(size: FloatArray, variance: FloatArray) -> FloatArray:
    exponents = np.multiply.outer(size, RATES) - np.multiply.outer(variance, PENALTIES)
    largest = exponents.max(axis=1)
    found: FloatArray = largest + np.log(np.exp(exponents - largest[:, None]).sum(axis=1))
    return found


def bounds_of(variance: FloatArray, needed: FloatArray) -> FloatArray:
    """Return the |S| at which the average passes; at `high` one rate alone does."""
    if not variance.size:
        return variance
    low: FloatArray = np.zeros(variance.size)
    high: FloatArray = ((needed[:, None] + np.multiply.outer(variance, PENALTIES)) / RATES).min(
        axis=1
    )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        over = log_sums(middle, variance) > needed
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return high
