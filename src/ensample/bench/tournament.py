"""Every rival on the same problems with the same noise: its regret, and the CPU time of a round."""

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ensample.bench.rivals import RIVALS, PeerPolicy, Player, version_of
from ensample.types import FloatArray

ARMS, DIM, NOISE = 10, 10, 0.3
STANDING = 50  # arms with features
SETTLED = 50  # rounds before the clock counts: loading, allocating
PROBLEMS = {
    "contexts": f"{ARMS} arms with a parameter each, contexts in {DIM} dimensions, noise {NOISE:g}",
    "features": f"{STANDING} arms on the sphere in {DIM} dimensions, one parameter, noise {NOISE:g}",
}


class DrawnProblem(NamedTuple):
    """A problem, drawn."""

    features: FloatArray | None  # of standing arms [K, d]
    contexts: FloatArray | None  # [T, d]
    means: FloatArray  # [T, K]
    noise: FloatArray  # [T, K]


@dataclass(frozen=True)
class TournamentResult:
    """What a rival did on a problem; None throughout where it cannot play or is not installed."""

    problem: str
    library: str
    version: str | None
    policy: str
    regret: float | None  # the mean over the runs
    standard_error: float | None  # of that mean
    microseconds: float | None  # of CPU for decide and update: the median of the runs' means


def drawn(problem: str, run: int, rounds: int) -> DrawnProblem:
    """The same for every rival."""
    rng = np.random.default_rng([run, list(PROBLEMS).index(problem)])
    if problem == "features":
        rows, theta = (
            unit(rng.standard_normal((STANDING, DIM))),
            unit(rng.standard_normal((1, DIM)))[0],
        )
        means = np.broadcast_to(rows @ theta, (rounds, STANDING))
        return DrawnProblem(rows, None, means, NOISE * rng.standard_normal((rounds, STANDING)))
    thetas = rng.standard_normal((ARMS, DIM)) / math.sqrt(DIM)
    contexts = np.column_stack([rng.standard_normal((rounds, DIM - 1)), np.ones(rounds)])
    return DrawnProblem(
        None, contexts, contexts @ thetas.T, NOISE * rng.standard_normal((rounds, ARMS))
    )


def unit(rows: FloatArray) -> FloatArray:
    made: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made


def made(rival: PeerPolicy, place: DrawnProblem, seed: int) -> Player | None:
    if place.features is None:
        return rival.contexts(ARMS, DIM, seed)
    return None if rival.features is None else rival.features(place.features, seed)


def played(player: Player, place: DrawnProblem) -> tuple[float, float]:
    """(regret, CPU microseconds of a round)."""
    regret, spent = 0.0, 0.0
    contexts: list[FloatArray | None] = (
        [None] * len(place.means) if place.contexts is None else list(place.contexts)
    )
    rewards = (place.means + place.noise).tolist()
    chosen: list[int] = []
    for round, (x, row) in enumerate(zip(contexts, rewards, strict=True)):
        start = time.thread_time()
        arm = player.decide(x)
        player.update(arm, row[arm])
        if round >= SETTLED:
            spent += time.thread_time() - start
        chosen.append(arm)
    regret = float((place.means.max(axis=1) - place.means[np.arange(len(chosen)), chosen]).sum())
    return regret, 1e6 * spent / max(1, len(chosen) - SETTLED)


def tournament(runs: int, rounds: int, step: Callable[[], None]) -> Iterator[TournamentResult]:
    """A result for each problem and rival; in each run all take their turn, so that a busy machine slows all of them."""
    for problem in PROBLEMS:
        found: dict[PeerPolicy, list[tuple[float, float]]] = {rival: [] for rival in RIVALS}
        for run in range(runs):
            place = drawn(problem, run, rounds)
            for rival in RIVALS:
                player = made(rival, place, run) if version_of(rival.library) is not None else None
                if player is not None:
                    found[rival].append(played(player, place))
                step()
        for rival, done in found.items():
            yield result(problem, rival, done)


def result(problem: str, rival: PeerPolicy, done: list[tuple[float, float]]) -> TournamentResult:
    about = problem, rival.library, version_of(rival.library), rival.name
    if not done:
        return TournamentResult(*about, None, None, None)
    regrets = [regret for regret, _ in done]
    error = statistics.stdev(regrets) / math.sqrt(len(regrets)) if len(regrets) > 1 else None
    return TournamentResult(
        *about, statistics.mean(regrets), error, statistics.median(spent for _, spent in done)
    )
