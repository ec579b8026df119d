"""Whole runs of every rival on the same problems: its score and its CPU time."""

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.rivals import RIVALS, Player, Rival, version_of
from benchmarks.timing import Step
from ensample.extras import package
from ensample.types import FloatArray

ARMS, DIM, NOISE = 10, 10, 0.3
STANDING = 50  # arms with features
SETTLED = 20  # rounds before the clock counts: loading, allocating
ROUNDS = 2_000
SIMULATED = {
    "contexts": f"{ARMS} arms with a parameter each, {DIM}-dimensional contexts, noise {NOISE:g}",
    "features": f"{STANDING} arms on the sphere, dimension {DIM}, one parameter, noise {NOISE:g}",
}
DATA_SETS = {"digits": "digits", "wine": "wine", "breast_cancer": "breast cancer"}
"""Data sets that come with scikit-learn, so nothing is downloaded."""


class Game(NamedTuple):
    """One run of a problem, the same for every rival."""

    kind: str  # which maker of a rival plays it
    features: FloatArray | None  # of standing arms [K, d]
    contexts: FloatArray | None  # [T, d], the last column 1
    means: FloatArray  # [T, K]
    noise: FloatArray  # [T, K]


class Played(NamedTuple):
    """What a rival did in one run; times are CPU seconds of each round."""

    regret: float
    rounds: int
    decisions: list[float]
    updates: list[float]


@dataclass(frozen=True)
class Result:
    """What a rival did on a problem; None throughout where it cannot play or is not installed."""

    problem: str
    library: str
    version: str | None
    policy: str
    score: float | None  # mean regret of a run; on a data set the share of right decisions
    standard_error: float | None  # of the score
    decision: float | None  # CPU microseconds, the median over all rounds
    update: float | None  # CPU microseconds, the mean: some updates take much longer than most
    microseconds: float | None  # of both: the median of the runs' means


def draw(problem: str, run: int, rounds: int) -> Game:
    if problem in DATA_SETS:
        return draw_data(problem, run, rounds)
    rng = np.random.default_rng([run, list(SIMULATED).index(problem)])
    if problem == "features":
        rows = unit(rng.standard_normal((STANDING, DIM)))
        theta = unit(rng.standard_normal((1, DIM)))[0]
        means = np.broadcast_to(rows @ theta, (rounds, STANDING))
        return Game("features", rows, None, means, NOISE * rng.standard_normal(means.shape))
    thetas = rng.standard_normal((ARMS, DIM)) / math.sqrt(DIM)
    contexts = np.column_stack([rng.standard_normal((rounds, DIM - 1)), np.ones(rounds)])
    means = contexts @ thetas.T
    return Game("contexts", None, contexts, means, NOISE * rng.standard_normal(means.shape))


def draw_data(name: str, run: int, rounds: int) -> Game:
    """Return rows in an order of this run. An arm is a class, and the right one pays 1.

    Columns are standardised; those that are the same in all rows are left out. No row comes twice
    before all have come.
    """
    load = getattr(package("sklearn.datasets", "python -m benchmarks"), f"load_{name}")
    rows, labels = load(return_X_y=True)
    rows = rows[:, np.ptp(rows, axis=0) > 0.0].astype(np.float64)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rng, passes = np.random.default_rng(run), -(-rounds // len(rows))
    order = np.concatenate([rng.permutation(len(rows)) for _ in range(passes)])[:rounds]
    means = np.eye(labels.max() + 1)[labels[order]]
    contexts = np.column_stack([rows[order], np.ones(rounds)])
    return Game("data", None, contexts, means, np.zeros_like(means))


def unit(rows: FloatArray) -> FloatArray:
    scaled: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def start(rival: Rival, game: Game, seed: int) -> Player | None:
    """Return the rival's player for this game; None where it cannot play."""
    if game.features is not None:
        return None if rival.features is None else rival.features(game.features, seed)
    make = rival.data if game.kind == "data" else rival.contexts
    assert game.contexts is not None
    return None if make is None else make(game.means.shape[1], game.contexts.shape[1], seed)


def play(player: Player, game: Game) -> Played:
    contexts = [None] * len(game.means) if game.contexts is None else list(game.contexts)
    rewards = (game.means + game.noise).tolist()
    chosen, decisions, updates = list[int](), list[float](), list[float]()
    for x, row in zip(contexts, rewards, strict=True):
        start = time.thread_time()
        arm = player.decide(x)
        middle = time.thread_time()
        player.update(arm, row[arm])
        updates.append(time.thread_time() - middle)
        decisions.append(middle - start)
        chosen.append(arm)
    lost = game.means.max(axis=1) - game.means[np.arange(len(chosen)), chosen]
    settled = min(SETTLED, len(chosen) // 2)
    return Played(float(lost.sum()), len(chosen), decisions[settled:], updates[settled:])


def tournament(problems: list[str], runs: int, rounds: int, step: Step) -> Iterator[Result]:
    """Yield a result for each problem and rival.

    All play each run in turn, so that a busy machine slows all of them.
    """
    for problem in problems:
        found: dict[Rival, list[Played]] = {rival: [] for rival in contestants(problem)}
        for run in range(runs):
            game = draw(problem, run, rounds)
            for rival, done in found.items():
                player = start(rival, game, run) if version_of(rival.library) else None
                if player is not None:
                    done.append(play(player, game))
                step()
        for rival, done in found.items():
            yield result(problem, rival, done)


def contestants(problem: str) -> list[Rival]:
    """Return the rivals in the table of a problem; some can play only one of the simulated two."""
    if problem in DATA_SETS:
        return [rival for rival in RIVALS if rival.data is not None]
    return [rival for rival in RIVALS if rival.contexts is not None]


def result(problem: str, rival: Rival, done: list[Played]) -> Result:
    who = problem, rival.library, version_of(rival.library), rival.name
    if not done:
        return Result(*who, *(None,) * 5)
    in_data = problem in DATA_SETS
    scores = [1.0 - run.regret / run.rounds if in_data else run.regret for run in done]
    error = statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else None
    decisions = [spent for run in done for spent in run.decisions]
    updates = [spent for run in done for spent in run.updates]
    rounds = [statistics.mean(run.decisions) + statistics.mean(run.updates) for run in done]
    times = statistics.median(decisions), statistics.mean(updates), statistics.median(rounds)
    return Result(*who, statistics.mean(scores), error, *(1e6 * spent for spent in times))
