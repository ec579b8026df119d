"""Bounds on a mean that hold at all times at once, also for what a learning policy has logged.

phi_1, phi_2, ... have conditional means mu_t given the past and are at least -k_t, which is known
before phi_t. With a centre c_t that is known before it too, at most `top`, and u_t = k_t + top,
Fan's inequality exp(l x - e(l) x^2) <= 1 + l x for x >= -1, e(l) = -log(1 - l) - l, makes

    M_t(l) = exp( l sum (phi_i - mu_i) - sum e(l u_i) / u_i^2 (phi_i - c_i)^2 ),   0 <= l < 1/u_t,

a supermartingale, and so is an average of several of them. By Ville's inequality the average passes
1/alpha with probability at most alpha, ever. Solved for the mean of mu_1 .. mu_t it bounds that
mean from below, for all t at once: one may look after every row, and stop when one likes. A rate l
that is too large once some k_t was large leaves the average, which loses its share and nothing
else.

References: X. Fan, I. Grama and Q. Liu, "Exponential inequalities for martingales with
applications", Electronic Journal of Probability 20 (2015); S. R. Howard, A. Ramdas, J. McAuliffe
and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
Statistics 49 (2021); I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis and P. Mineiro,
"Anytime-valid off-policy inference for contextual bandits", arXiv 2210.10768 (2022).
"""

import math

import numpy as np

from ensample.types import FloatArray

RATES = 2.0 ** -np.arange(1.0, 17.0)
"""l, for numbers of size 1: a factor of 2 between two of them costs 6% of width at most, their
number a logarithm."""

STEPS = 100  # at most; it takes some ten


class LowerBound:
    """A lower bound on the mean of mu_1 .. mu_t from phi_1 .. phi_t; what is kept does not grow.

    >>> bound = LowerBound(top=1.0)
    >>> for _ in range(20):
    ...     bound.add(np.full(50, 0.7), least=0.0)
    >>> round(bound.at(alarm=0.025), 3)
    0.687
    """

    def __init__(self, top: float = 1.0) -> None:
        """`top`: what a mean cannot exceed."""
        self.top = top
        self.count = 0
        self.total = 0.0
        self.squares = 0.0  # sum (phi - c)^2
        self.rates = RATES
        self.penalties = np.zeros(RATES.size)

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else math.nan

    def add(self, values: FloatArray, least: FloatArray | float) -> None:
        """Add phi's, none below its `least`, which was known before it."""
        if values.size == 0:
            return
        reach = np.broadcast_to(self.top - np.asarray(least), values.shape)
        keep = self.rates * rounded(reach).max() < 1.0
        self.rates, self.penalties = self.rates[keep], self.penalties[keep]
        sums = self.total + np.cumsum(values)
        before = np.concatenate(([self.total], sums[:-1]))
        counts = self.count + np.arange(values.size)
        centres = np.clip((before + 0.5 * self.top) / (counts + 1.0), least, self.top)
        squares = np.square(values - centres)
        for width, total in totals(reach, squares):
            stretched = self.rates * width
            self.penalties = self.penalties + (-np.log1p(-stretched) - stretched) / width**2 * total
        self.squares += float(squares.sum())
        self.total = float(sums[-1])
        self.count += values.size

    @property
    def room(self) -> float:
        """Largest reach of the next row without harm: a third of 1 / l for the dominant rate l."""
        return max(2.0 * self.top, math.sqrt(self.squares / 13.0) / 3.0)

    def at(self, alarm: float) -> float:
        """Return the bound: below the mean for all t at once, but for probability `alarm`."""
        if self.count == 0 or self.rates.size == 0:
            return -math.inf
        needed = math.log(RATES.size / alarm)  # every rate has the same share, also those that left
        low = self.mean - self.widest(needed)
        for _ in range(
            STEPS
        ):  # Newton's: the growth is convex and falls, so that each step stays on the careful side
            excess, slope = self.growth_and_slope(low)
            nearer = low + (excess - needed) / slope
            if nearer <= low:
                break
            low = nearer
        return low

    def growth(self, mean: float) -> float:
        """Return log sum_l M_t(l), if this were the mean."""
        return self.growth_and_slope(mean)[0]

    def growth_and_slope(self, mean: float) -> tuple[float, float]:
        """Return the growth, and how much it falls with the mean."""
        exponents = self.rates * (self.total - self.count * mean) - self.penalties
        largest = float(exponents.max())
        shares = np.exp(exponents - largest)
        size = float(shares.sum())
        return largest + math.log(size), self.count * float(shares @ self.rates) / size

    def widest(self, needed: float) -> float:
        """Return a distance from the mean at which one rate alone decides."""
        return float(np.min((needed + self.penalties) / (self.count * self.rates)))


def rounded(reach: FloatArray) -> FloatArray:
    """Round u up to quarters of a power of 2, so that rows with the same u are summed."""
    powers: FloatArray = 2.0 ** (np.ceil(4.0 * np.log2(reach) - 1e-9) / 4.0)
    return powers


def totals(reach: FloatArray, squares: FloatArray) -> list[tuple[float, float]]:
    """Return (u, sum of the squares of its rows) for each u."""
    widths, inverse = np.unique(rounded(reach), return_inverse=True)
    sums = np.bincount(inverse, squares)
    return [(float(width), float(total)) for width, total in zip(widths, sums, strict=True)]
