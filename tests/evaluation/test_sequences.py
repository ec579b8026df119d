"""Confidence sequences cover at all looks at once, also where the log comes from a policy that learns.

A sequence at alarm 5% that covers as promised misses in at most 5% of runs, in expectation; a run of this test fails by chance
with the probability that a binomial count of misses at 5% is as large as allowed, below `FALSE_ALARM`.
"""

import math

import numpy as np
import pytest
from scipy import stats

from attempts import attempts
from ensample.evaluation.sequences import RATES, LowerBound
from evidence import FALSE_ALARM

ALARM = 0.05
LOOK = 100
MEANS = np.array([0.5, 0.45, 0.4, 0.3])


def learning_logs(runs, rows, floor, rng):
    """Weights and rewards for "always the last action", from policies that follow what they have seen: [runs, rows] each.

    Early rewards decide how often the last action is played later: what makes normal intervals fail.
    """
    wins, plays = np.ones((runs, 4)), np.full((runs, 4), 2.0)
    weights, rewards = np.empty((runs, rows)), np.empty((runs, rows))
    each = np.arange(runs)
    for row in range(rows):
        shares = np.full((runs, 4), floor / 4)
        shares[each, (wins / plays).argmax(axis=1)] += 1.0 - floor
        chosen = (shares.cumsum(axis=1) > rng.random((runs, 1))).argmax(axis=1)
        reward = rng.random(runs) < MEANS[chosen]
        weights[:, row], rewards[:, row] = (chosen == 3) / shares[each, chosen], reward
        wins[each, chosen] += reward
        plays[each, chosen] += 1.0
    return weights, rewards


def ever_above(terms, mean, needed):
    """Whether the lower bound of one run is ever above the mean, looking every `LOOK` rows."""
    bound = LowerBound()
    for start in range(0, terms.size, LOOK):
        bound.add(terms[start : start + LOOK], 0.0)
        if bound.growth(mean) >= needed:
            return True
    return False


def normal_misses(terms, mean):
    """Whether the normal interval of one run ever misses the mean."""
    n = np.arange(1, terms.size + 1)
    centre = np.cumsum(terms) / n
    spread = np.sqrt(np.maximum(np.cumsum(terms**2) / n - centre**2, 0.0) / n)
    looks = slice(LOOK - 1, None, LOOK)
    return bool((np.abs(centre - mean) > stats.norm.isf(ALARM / 2) * spread)[looks].any())


def test_the_sequence_covers_where_the_normal_interval_does_not():
    runs, rows = attempts(150, 1000), attempts(3000, 10_000)
    weights, rewards = learning_logs(runs, rows, 0.1, np.random.default_rng(1))
    needed = math.log(RATES.size / (ALARM / 2))
    missed = sum(
        ever_above(w * r, MEANS[3], needed) or ever_above(w * (1.0 - r), 1.0 - MEANS[3], needed)
        for w, r in zip(weights, rewards, strict=True)
    )
    assert stats.binom.sf(missed - 1, runs, ALARM) > FALSE_ALARM
    assert missed <= ALARM * runs  # what was seen: the sequence is careful
    normal = sum(normal_misses(w * r, MEANS[3]) for w, r in zip(weights, rewards, strict=True))
    assert stats.binom.sf(normal - 1, runs, ALARM) < FALSE_ALARM


def test_a_bound_that_forgets_its_penalty_is_caught():
    """The negative control: half the penalty, and it misses too often."""

    class Careless(LowerBound):
        def add(self, values, least):
            super().add(values, least)
            self.penalties = self.penalties * 0.5

    rng, missed = np.random.default_rng(2), 0
    needed = math.log(RATES.size / ALARM)
    for _ in range(100):
        bound, above = Careless(), False
        for _ in range(60):
            bound.add((rng.random(100) < 0.05) * 10.0, 0.0)
            above |= bound.growth(0.5) >= needed
        missed += above
    assert stats.binom.sf(missed - 1, 100, ALARM) < FALSE_ALARM


@pytest.mark.parametrize("least", [0.0, -3.0])
def test_the_bound_is_where_its_growth_is_what_is_needed(least):
    bound = LowerBound()
    bound.add(np.random.default_rng(3).random(500) + least / 2, least)
    low = bound.at(0.01)
    assert bound.growth(low) == pytest.approx(math.log(RATES.size / 0.01), abs=1e-6)
    assert low < bound.mean


def test_widths_shrink_as_the_square_root_of_the_rows():
    """3.6 standard errors a side at 2.5%, where a normal interval looked at once has 1.96."""
    rng = np.random.default_rng(4)
    for rows in (10_000, 1_000_000):
        bound = LowerBound()
        values = (rng.random(rows) < 0.3).astype(float)
        bound.add(values, 0.0)
        assert 3.0 < (bound.mean - bound.at(0.025)) / (values.std() / math.sqrt(rows)) < 4.2


def test_rows_in_pieces_or_at_once_give_the_same_bound():
    values = np.random.default_rng(5).random(1000)
    whole, parts = LowerBound(), LowerBound()
    whole.add(values, -1.0)
    for start in range(0, 1000, 37):
        parts.add(values[start : start + 37], -1.0)
    assert parts.at(0.05) == pytest.approx(whole.at(0.05), rel=1e-12)


def test_nothing_is_known_of_nothing():
    assert LowerBound().at(0.05) == -math.inf
