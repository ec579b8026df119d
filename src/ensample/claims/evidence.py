"""From measurements to verdicts, with one false-alarm rate for the whole suite.

A statement about probabilities is `refuted` only if an exact interval excludes it, and `holds` only
if the interval lies entirely on its side; otherwise the outcome is `inconclusive` and names the
sample size that would decide, were the estimate the truth. Both errors, refuting a true statement
and upholding a false one, have probability at most the statement's share of `SUITE_FALSE_ALARM`.
The shares are fixed: adding a claim changes no verdict of another. Rates suppose that slopes are
about normal over the seeds.

A statement that something *equals* a value cannot be proved by sampling. It `holds` if the interval
contains the value and lies within a stated tolerance of it, and is refuted if the interval excludes
the value.

Identities and inequalities are not statistical: one counterexample beyond rounding refutes them,
and one that holds was searched for and not found.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Outcome, Verdict
from ensample.randomness import RunStream, run_generator
from ensample.statistics import binomial_interval, deciding_sample, ks_radius, student_quantile
from ensample.types import FloatArray

SUITE_FALSE_ALARM = 1e-4
"""The probability that a run of the suite refutes a true claim is at most this."""

MOST_CLAIMS = 50
"""Room for this many claims; a test counts them."""

CLAIM_ALARM = SUITE_FALSE_ALARM / MOST_CLAIMS
"""A claim's share. One that makes several tests gives each `alarm=CLAIM_ALARM / tests`."""

ROUNDING = 1e-12
"""Relative slack of inequalities between computed numbers."""


def cell(claim: str) -> int:
    """The address of a claim's random numbers: `simulate(..., cell=cell(id))`, and `generator`."""
    return crc32(claim.encode())


def generator(
    seed: int, claim: str, part: int = 0, stream: RunStream = RunStream.PERTURBATION
) -> Generator:
    """Return random numbers of one part of one claim, whatever other claims or threads do."""
    return run_generator(seed, cell(claim), part, stream)


def identity(error: float, tolerance: float, sample: int, detail: str = "") -> Outcome:
    """Two computations of the same agree: the largest relative error is within the tolerance.

    >>> identity(3e-14, 1e-10, 100).verdict.value
    'holds'
    """
    margin, verdict = room(tolerance - error, tolerance), verdict_of(error <= tolerance, True)
    return Outcome(error, "<=", tolerance, margin, verdict, sample, detail)


def always_at_most(measured: float, bound: float, sample: int, detail: str = "") -> Outcome:
    """The largest value found is at most the bound, up to rounding."""
    holds, margin = measured <= bound + ROUNDING * abs(bound), room(bound - measured, bound)
    margin = max(0.0, margin) if holds else margin
    return Outcome(measured, "<=", bound, margin, verdict_of(holds, True), sample, detail)


def always_at_least(measured: float, bound: float, sample: int, detail: str = "") -> Outcome:
    """The smallest value found is at least the bound, up to rounding (absolute if it is 0)."""
    holds = measured >= bound - ROUNDING * (abs(bound) if bound else 1.0)
    margin = room(measured - bound, bound)
    margin = max(0.0, margin) if holds else margin
    return Outcome(measured, ">=", bound, margin, verdict_of(holds, True), sample, detail)


def verdict_of(holds: bool, refuted: bool) -> Verdict:
    """Return the verdict; a statement that holds is not refuted."""
    return Verdict.HOLDS if holds else Verdict.REFUTED if refuted else Verdict.INCONCLUSIVE


def probability_at_least(
    successes: int, trials: int, bound: float, detail: str = "", alarm: float = CLAIM_ALARM
) -> Outcome:
    """P(success) >= bound.

    >>> probability_at_least(990, 1000, 0.95).verdict.value
    'holds'
    >>> undecided = probability_at_least(96, 100, 0.95)
    >>> undecided.verdict.value, undecided.decides
    ('inconclusive', 12262)
    """
    low, high = binomial_interval(successes, trials, alarm)
    verdict, share = verdict_of(low >= bound, high < bound), successes / trials
    undecided = verdict is Verdict.INCONCLUSIVE
    decides = deciding_sample(share, bound, trials, alarm) if undecided else None
    detail, margin = joined(detail, f"interval [{low:.5g}, {high:.5g}]"), room(low - bound, bound)
    return Outcome(share, ">=", bound, margin, verdict, trials, detail, decides)


def probability_at_most(
    successes: int, trials: int, bound: float, detail: str = "", alarm: float = CLAIM_ALARM
) -> Outcome:
    """P(success) <= bound."""
    low, high = binomial_interval(successes, trials, alarm)
    verdict, share = verdict_of(high <= bound, low > bound), successes / trials
    undecided = verdict is Verdict.INCONCLUSIVE
    decides = deciding_sample(share, bound, trials, alarm) if undecided else None
    detail, margin = joined(detail, f"interval [{low:.5g}, {high:.5g}]"), room(bound - high, bound)
    return Outcome(share, "<=", bound, margin, verdict, trials, detail, decides)


def probability_equals(
    successes: int,
    trials: int,
    value: float,
    tolerance: float,
    detail: str = "",
    alarm: float = CLAIM_ALARM,
) -> Outcome:
    """P(success) = value, to within a relative tolerance."""
    low, high = binomial_interval(successes, trials, alarm)
    farthest, allowed = max(high - value, value - low), tolerance * value
    inside = low <= value <= high
    verdict, decides = verdict_of(inside and farthest <= allowed, not inside), None
    if verdict is Verdict.INCONCLUSIVE:  # the half-width shrinks as one over the root of the sample
        decides = math.ceil(trials * (farthest / allowed) ** 2)
    detail = joined(detail, f"interval [{low:.5g}, {high:.5g}], tolerance {tolerance:.0%}")
    margin = room(allowed - farthest if inside else min(value - low, high - value), value)
    return Outcome(successes / trials, "=", value, margin, verdict, trials, detail, decides)


def same_law(
    distance: float,
    samples: Sequence[int],
    tolerance: float,
    detail: str = "",
    alarm: float = CLAIM_ALARM,
) -> Outcome:
    """Two laws are the same, to within `tolerance` in Kolmogorov-Smirnov distance.

    `distance` is that of the empirical laws; `samples` are their sizes (one size if the other law
    is known). The true distance is within the sum of the Dvoretzky-Kiefer-Wolfowitz radii of it,
    whatever the laws are.

    >>> [same_law(distance, [100_000], 0.02).verdict.value for distance in (0.004, 0.03)]
    ['holds', 'refuted']
    """
    radius = sum(ks_radius(size, alarm / len(samples)) for size in samples)
    farthest, refuted = distance + radius, distance > radius
    verdict, decides = verdict_of(not refuted and farthest <= tolerance, refuted), None
    if verdict is Verdict.INCONCLUSIVE:
        needed = tolerance - distance if distance < 0.5 * tolerance else distance
        decides = math.ceil(sum(samples) * (radius / needed) ** 2)
    detail = joined(detail, f"KS distance at most {farthest:.3g}")
    sure = room(radius - distance, radius)
    margin = sure if refuted else room(tolerance - distance - radius, tolerance)
    return Outcome(distance, "<=", radius, margin, verdict, sum(samples), detail, decides)


def slope_at_most(
    x: FloatArray, y: FloatArray, bound: float, detail: str = "", alarm: float = CLAIM_ALARM
) -> Outcome:
    """y grows no faster than x^bound: Student's interval of the mean log-log slope of replicates.

    x: [points], y: [replicates, points], positive. A replicate's row may itself be a mean of runs,
    which brings the slopes closer to normal, as the interval supposes.

    >>> noise = np.random.default_rng(0).lognormal(0, 0.05, (20, 4))
    >>> x = np.array([1.0, 10, 100, 1000])
    >>> [slope_at_most(x, noise * x**power, 0.5).verdict.value for power in (0.4, 0.6)]
    ['holds', 'refuted']
    """
    centred = np.log(x) - np.log(x).mean()
    slopes = np.log(y) @ centred / (centred @ centred)
    n = slopes.size
    mean, error = float(slopes.mean()), float(slopes.std(ddof=1)) / math.sqrt(n)
    reach = student_quantile(alarm / 2, n - 1) * error
    verdict, decides = verdict_of(mean + reach <= bound, mean - reach > bound), None
    if verdict is Verdict.INCONCLUSIVE:
        decides = math.ceil(n * (reach / max(abs(bound - mean), 1e-9)) ** 2)
    detail = joined(detail, f"slope {mean:.4f}, interval [{mean - reach:.4f}, {mean + reach:.4f}]")
    margin = room(bound - mean - reach, bound)
    return Outcome(mean, "<=", bound, margin, verdict, n, detail, decides)


class Trials(NamedTuple):
    """One of several tests of P(success) >= chance."""

    successes: int
    trials: int
    chance: float
    detail: str = ""


def each_at_least(tests: Sequence[Trials], split: int = 0) -> Outcome:
    """P(success) >= chance in every test. The alarm is split over them, or over `split` tests.

    >>> each_at_least([Trials(990, 1000, 0.95), Trials(900, 1000, 0.95)]).verdict.value
    'refuted'
    """
    alarm = CLAIM_ALARM / (split or len(tests))
    return weakest([probability_at_least(*test, alarm) for test in tests])


def weakest(outcomes: Sequence[Outcome]) -> Outcome:
    """Several outcomes as one: the worst verdict, then the least margin, speaks for all.

    >>> weakest([always_at_most(1, 2, 10), always_at_most(3, 2, 5)]).verdict.value
    'refuted'
    """
    severity = (Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.REFUTED)
    worst = max(outcomes, key=lambda one: (severity.index(one.verdict), -one.margin))
    details = "; ".join(dict.fromkeys(one.detail for one in outcomes if one.detail))
    return replace(worst, sample=sum(one.sample for one in outcomes), detail=details)


def room(gap: float, bound: float) -> float:
    """Return the gap as a share of the bound, or itself if the bound is 0."""
    return gap / abs(bound) if bound else gap


def joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
