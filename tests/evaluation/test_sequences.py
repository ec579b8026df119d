"""Confidence sequences cover at all looks at once, also on logs of a policy that learns; normal
intervals do not.

A sequence at alarm 5% misses in at most 5% of runs, in expectation. A run of this test fails by
chance with the probability that a binomial count of misses at 5% is as large as allowed, below
`FALSE_ALARM`.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from attempts import attempts
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.sequences import RATES, LowerBound
from ensample.evaluation.sums import RowSums, WeighedRows
from evidence import FALSE_ALARM

ALARM, LOOK, FLOOR = 0.05, 100, 0.1
MEANS = np.array([0.5, 0.45, 0.4, 0.3])
TARGET = np.array([0.0, 0.1, 0.1, 0.8])
ESTIMATES = ("ips", "snips", "dr", "lift")
RUNS, ROWS = attempts(60, 1_000), attempts(2_000, 10_000)
NEEDED = math.log(RATES.size / (ALARM / 2))


class Logs(NamedTuple):
    """Logs of policies that follow what they have seen, [rows, runs] each."""

    leaders: np.ndarray  # the action that seemed best
    chosen: np.ndarray
    rewards: np.ndarray


def learning_logs(runs: int, rows: int, seed: int) -> Logs:
    """Early rewards decide which actions are played later: this makes normal intervals fail."""
    rng, each = np.random.default_rng(seed), np.arange(runs)
    wins, plays = np.ones((runs, 4)), np.full((runs, 4), 2.0)
    logs = Logs(*(np.empty((rows, runs), np.int8) for _ in range(3)))
    for row in range(rows):
        leader = (wins / plays).argmax(axis=1)
        chosen = np.where(rng.random(runs) < FLOOR, rng.integers(4, size=runs), leader)
        reward = rng.random(runs) < MEANS[chosen]
        logs.leaders[row], logs.chosen[row], logs.rewards[row] = leader, chosen, reward
        wins[each, chosen] += reward
        plays[each, chosen] += 1.0
    return logs


def looks(logs: Logs, run: int):
    """Yield (sums, truths) of one run; the truth of the lift is the mean over its rows."""
    sums, model, logged, value = RowSums(), ActionRidges(4, 0), 0.0, float(TARGET @ MEANS)
    for start in range(0, len(logs.chosen), LOOK):
        leader, chosen, reward = (part[start : start + LOOK, run].astype(np.int64) for part in logs)
        rows, reward = np.arange(len(chosen)), reward.astype(float)
        shares = np.full((len(chosen), 4), FLOOR / 4)
        shares[rows, leader] += 1.0 - FLOOR
        target, contexts = np.tile(TARGET, (len(chosen), 1)), np.zeros((len(chosen), 0))
        weights, predicted = TARGET[chosen] / shares[rows, chosen], model.predict(contexts)
        sums.add(WeighedRows(reward, chosen, weights, target, shares, predicted))
        model.add(contexts, chosen, reward)
        model.fit()
        logged += float((shares @ MEANS).sum())
        yield sums, dict.fromkeys(ESTIMATES, value) | {"lift": value - logged / sums.rows}


def is_above(bound: LowerBound, mean: float) -> bool:
    return bool(bound.growth(mean) >= NEEDED)


def most(name: str) -> float:
    """Return the mean of terms plus that of mirrored terms."""
    return 0.0 if name == "lift" else 1.0


@pytest.fixture(scope="module")
def missed() -> dict[tuple[str, str], int]:
    """Count the runs in which each interval ever missed."""
    logs, counts = learning_logs(RUNS, ROWS, 3), {}
    for run in range(RUNS):
        ever = set()
        for sums, truths in looks(logs, run):
            normal = sums.estimates(ALARM, "normal")
            for name, truth in truths.items():
                one = getattr(sums, name)
                if is_above(one.lower, truth) or is_above(one.upper, most(name) - truth):
                    ever.add(("sequence", name))
                if not normal[name].low <= truth <= normal[name].high:
                    ever.add(("normal", name))
        for key in ever:
            counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize("name", ESTIMATES)
def test_sequence_covers_where_the_normal_interval_does_not(name, missed) -> None:
    count = missed.get(("sequence", name), 0)
    assert stats.binom.sf(count - 1, RUNS, ALARM) > FALSE_ALARM and count <= ALARM * RUNS
    assert stats.binom.sf(missed["normal", name] - 1, RUNS, ALARM) < FALSE_ALARM


@pytest.mark.parametrize("name", ESTIMATES)
def test_ends_of_the_sequence_are_where_the_growth_is_large_enough(name: str) -> None:
    """So what is counted above is what `evaluate` shows."""
    *_, (sums, _) = looks(learning_logs(1, 6_000, 5), 0)
    found, one = sums.estimates(ALARM, "sequence")[name], getattr(sums, name)
    for step in (1e-9, -1e-9):
        assert is_above(one.lower, found.low + step) is (step < 0.0)
        assert is_above(one.upper, most(name) - (found.high - step)) is (step < 0.0)


def test_half_the_penalty_is_noticed():
    """The negative control."""

    class HalfPenalty(LowerBound):
        def add(self, values, least):
            super().add(values, least)
            self.penalties = self.penalties * 0.5

    rng, missed = np.random.default_rng(2), 0
    needed = math.log(RATES.size / ALARM)
    for _ in range(100):
        bound, above = HalfPenalty(), False
        for _ in range(60):
            bound.add((rng.random(100) < 0.05) * 10.0, 0.0)
            above |= bound.growth(0.5) >= needed
        missed += above
    assert stats.binom.sf(missed - 1, 100, ALARM) < FALSE_ALARM


@pytest.mark.parametrize("least", [0.0, -3.0])
def test_bound_is_where_its_growth_is_what_is_needed(least):
    bound = LowerBound()
    assert bound.at(0.05) == -math.inf
    bound.add(np.random.default_rng(3).random(500) + least / 2, least)
    low = bound.at(0.01)
    assert bound.growth(low) == pytest.approx(math.log(RATES.size / 0.01), abs=1e-6)
    assert low < bound.mean


def test_widths_shrink_as_the_square_root_of_the_rows():
    """3.6 standard errors a side at 2.5%, where a normal interval looked at once has 1.96."""
    rng = np.random.default_rng(4)
    for rows in (10_000, 1_000_000):
        bound, values = LowerBound(), (rng.random(rows) < 0.3).astype(float)
        bound.add(values, 0.0)
        assert 3.0 < (bound.mean - bound.at(0.025)) / (values.std() / math.sqrt(rows)) < 4.2


def test_rows_in_pieces_or_at_once_give_the_same_bound():
    values = np.random.default_rng(5).random(1000)
    whole, parts = LowerBound(), LowerBound()
    whole.add(values, -1.0)
    for start in range(0, 1000, 37):
        parts.add(values[start : start + 37], -1.0)
    assert parts.at(0.05) == pytest.approx(whole.at(0.05), rel=1e-12)
