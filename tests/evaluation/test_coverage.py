"""SNIPS, DR and the lift cover at all looks at once on logs of a policy that learns; normal intervals do not.

As in `test_sequences`, where IPS is: a look every 100 rows, misses are counted by run, at an alarm of 5%. All goes through the
sums and the reward model that `evaluate` uses.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from attempts import attempts
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.sequences import RATES, LowerBound
from ensample.evaluation.sums import EstimateSums, RowSums, WeighedRows
from evidence import FALSE_ALARM

ALARM, LOOK, FLOOR = 0.05, 100, 0.1
MEANS = np.array([0.5, 0.45, 0.4, 0.3])
TARGET = np.array([0.0, 0.1, 0.1, 0.8])
ESTIMATES = ("snips", "dr", "lift")
RUNS, ROWS = attempts(60, 1_000), attempts(2_000, 10_000)


class Logs(NamedTuple):
    """Of policies that follow what they have seen: [rows, runs] each."""

    leaders: np.ndarray  # the action that seemed best
    chosen: np.ndarray
    rewards: np.ndarray


def learning_logs(runs: int, rows: int, rng: np.random.Generator) -> Logs:
    """Early rewards decide which actions are played later."""
    wins, plays, each = np.ones((runs, 4)), np.full((runs, 4), 2.0), np.arange(runs)
    logs = Logs(*(np.empty((rows, runs), np.int8) for _ in range(3)))
    for row in range(rows):
        leader = (wins / plays).argmax(axis=1)
        chosen = np.where(rng.random(runs) < FLOOR, rng.integers(4, size=runs), leader)
        reward = rng.random(runs) < MEANS[chosen]
        logs.leaders[row], logs.chosen[row], logs.rewards[row] = leader, chosen, reward
        wins[each, chosen] += reward
        plays[each, chosen] += 1.0
    return logs


class Look(NamedTuple):
    """What is known after some rows, and what is true of them."""

    tally: RowSums
    truths: dict[str, float]


def looks(logs: Logs, run: int) -> Iterator[Look]:
    """One run, look by look; the truth of the lift is the mean over the rows, given what came before each."""
    tally, model, expected = RowSums(), ActionRidges(4, 0), 0.0
    for start in range(0, len(logs.chosen), LOOK):
        leader, chosen, reward = (part[start : start + LOOK, run].astype(np.int64) for part in logs)
        shares = np.full((len(chosen), 4), FLOOR / 4)
        shares[np.arange(len(chosen)), leader] += 1.0 - FLOOR
        target = np.tile(TARGET, (len(chosen), 1))
        weights = TARGET[chosen] / shares[np.arange(len(chosen)), chosen]
        contexts = np.zeros((len(chosen), 0))
        tally.add(
            WeighedRows(
                reward.astype(float), chosen, weights, target, shares, model.predict(contexts)
            )
        )
        model.add(contexts, chosen, reward.astype(float))
        model.fit()
        expected += float((shares @ MEANS).sum())
        value = float(TARGET @ MEANS)
        yield Look(tally, {"snips": value, "dr": value, "lift": value - expected / tally.rows})


def is_above(bound: LowerBound, mean: float) -> bool:
    return bool(bound.growth(mean) >= np.log(RATES.size / (ALARM / 2)))


def misses(name: str, look: Look) -> bool:
    """Whether the sequence misses the truth; the mirrored rewards' truth is 1 less it, or minus it for the lift."""
    track: EstimateSums = getattr(look.tally, name)
    truth = look.truths[name]
    return is_above(track.lower, truth) or is_above(
        track.upper, (0.0 if name == "lift" else 1.0) - truth
    )


def misses_normally(name: str, look: Look) -> bool:
    found = look.tally.estimates(ALARM, "normal")[name]
    return not found.low <= look.truths[name] <= found.high


@pytest.fixture(scope="module")
def missed() -> dict[str, dict[str, int]]:
    """In how many runs each interval ever missed."""
    logs = learning_logs(RUNS, ROWS, np.random.default_rng(3))
    counts = {kind: dict.fromkeys(ESTIMATES, 0) for kind in ("sequence", "normal")}
    for run in range(RUNS):
        ever = {kind: dict.fromkeys(ESTIMATES, False) for kind in counts}
        for look in looks(logs, run):
            for name in ESTIMATES:
                ever["sequence"][name] |= misses(name, look)
                ever["normal"][name] |= misses_normally(name, look)
        for kind, names in ever.items():
            for name in ESTIMATES:
                counts[kind][name] += names[name]
    print(f"\n{RUNS} runs of {ROWS} rows, a look every {LOOK}: missed {counts}")
    return counts


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_sequence_covers(name: str, missed: dict[str, dict[str, int]]) -> None:
    count = missed["sequence"][name]
    assert stats.binom.sf(count - 1, RUNS, ALARM) > FALSE_ALARM and count <= ALARM * RUNS


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_normal_interval_does_not(name: str, missed: dict[str, dict[str, int]]) -> None:
    """The negative control."""
    assert stats.binom.sf(missed["normal"][name] - 1, RUNS, ALARM) < FALSE_ALARM


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_bounds_are_where_growth_says(name: str) -> None:
    """What is counted above is what `evaluate` shows: low and high miss exactly where the growth is large enough."""
    *_, last = looks(learning_logs(1, 6_000, np.random.default_rng(5)), 0)
    found = last.tally.estimates(ALARM, "sequence")[name]
    track, most = getattr(last.tally, name), 0.0 if name == "lift" else 1.0
    for inside, mean in ((True, found.low + 1e-9), (False, found.low - 1e-9)):
        assert is_above(track.lower, mean) is not inside
    for inside, mean in ((True, found.high - 1e-9), (False, found.high + 1e-9)):
        assert is_above(track.upper, most - mean) is not inside
