"""Real data: how often each chooser is right, and what a decision costs, in the same run."""

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ensample.bench.choosers import CHOOSERS, Chooser
from ensample.bench.data_sets import DataSet

ROUNDS = 2_000
SETTLED = 20  # rounds before the clock counts: loading, allocating


@dataclass(frozen=True)
class Score:
    """What a chooser did on a data set; None throughout where its library is not installed."""

    data: str
    chooser: str
    share: float | None  # of decisions that were right, the mean over the runs
    standard_error: float | None  # of that mean
    decision: float | None  # CPU microseconds, the median over all rounds
    reward: (
        float | None
    )  # CPU microseconds to learn from one, the mean: now and then one takes long


@dataclass(frozen=True)
class PlayedOnce:
    """One run."""

    share: float
    decisions: list[float]  # CPU seconds
    rewards: list[float]


def scores(data: DataSet, runs: int, rounds: int, step: Callable[[], None]) -> Iterator[Score]:
    """Of every chooser on one data set; `step` is called after each run. In run r all see the rows in the same order."""
    for name, make in CHOOSERS.items():
        try:
            done = []
            for run in range(runs):
                done.append(played(make(data.classes, run), data, run, rounds))
                step()
            yield score(data.name, name, done)
        except ImportError:
            yield Score(data.name, name, None, None, None, None)


def score(data: str, name: str, done: list[PlayedOnce]) -> Score:
    shares = [one.share for one in done]
    error = statistics.stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else None
    decisions = [spent for one in done for spent in one.decisions]
    rewards = [spent for one in done for spent in one.rewards]
    return Score(
        data,
        name,
        statistics.mean(shares),
        error,
        statistics.median(decisions) * 1e6,
        statistics.mean(rewards) * 1e6,
    )


def played(chooser: Chooser, data: DataSet, run: int, rounds: int) -> PlayedOnce:
    """Rows in an order of their own, and in another one each time they begin again; a decision that is right pays 1."""
    right, decisions, rewards = 0, list[float](), list[float]()
    contexts, labels = data.rows.tolist(), data.labels.tolist()
    for row in order(len(labels), run, rounds):
        context = contexts[row]
        start = time.thread_time()
        chosen = chooser.decide(context)
        middle = time.thread_time()
        reward = float(chosen == labels[row])
        chooser.update(reward)
        right += reward == 1.0
        decisions.append(middle - start)
        rewards.append(time.thread_time() - middle)
    settled = min(SETTLED, rounds // 2)
    return PlayedOnce(right / rounds, decisions[settled:], rewards[settled:])


def order(count: int, run: int, rounds: int) -> list[int]:
    """Of the rows in one run."""
    rng = np.random.default_rng(run)
    passes = -(-rounds // count)
    rows: list[int] = np.concatenate([rng.permutation(count) for _ in range(passes)])[
        :rounds
    ].tolist()
    return rows
