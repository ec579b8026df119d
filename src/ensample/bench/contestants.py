"""Who takes turns: our simulator, our live policies, the textbook, the C floor and other libraries, on the sphere problem."""

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np

from ensample.arms import FiniteArms
from ensample.bench.floor import run_floor
from ensample.bench.peers import Peer
from ensample.bench.textbook import Textbook
from ensample.bench.timing import Turn
from ensample.policies import Policy, Recipe
from ensample.problems import Family, problem
from ensample.simulation import simulate
from ensample.types import FloatArray

DIM, ARMS, NOISE, SCALE, HORIZON = 20, 100, 0.1, 0.3, 10_000


def sphere() -> Family:
    return problem("sphere", dim=DIM, arms=ARMS, noise=NOISE)


def simulated(recipe: Recipe, family: Family, horizon: int = HORIZON, runs: int = 5) -> Turn:
    """Our simulator on one thread, a new seed each turn; the median of its runs."""
    seeds = count()

    def turn() -> float:
        done = simulate(recipe, family, horizon, runs, next(seeds), threads=1)
        return float(np.median(done.seconds)) / horizon * 1e6

    return turn


def threaded(recipe: Recipe, threads: int, horizon: int = 10 * HORIZON, runs: int = 8) -> Turn:
    """Our simulator by the clock on the wall."""

    def turn() -> float:
        start = time.perf_counter()
        simulate(recipe, sphere(), horizon, runs, threads=threads)
        return (time.perf_counter() - start) / (horizon * runs) * 1e6

    return turn


def floored(program: Path, size: int, runs: int = 5) -> Turn:
    seeds = count()
    return lambda: (
        run_floor(program, DIM, ARMS, size, HORIZON, NOISE, SCALE, runs, next(seeds))[
            "seconds_per_round"
        ]
        * 1e6
    )


def textbook(size: int, rounds: int) -> Turn:
    return looped(lambda features: Textbook(features, size, SCALE, seed=0), rounds)


def peered(make: Callable[[FloatArray, float], Peer], rounds: int) -> Turn:
    return looped(lambda features: make(features, SCALE), rounds)


def live(recipe: Recipe, rounds: int, clicks: bool = False) -> Turn:
    return looped(lambda features: Live(recipe.start(FiniteArms(features), seed=0)), rounds, clicks)


class Live:
    """A live policy as a `Peer`: the update names the decision, as users do."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def decide(self) -> int:
        self.decision = self.policy.decide()
        assert self.decision.arm is not None
        return self.decision.arm

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(self.decision, reward)


def looped(make: Callable[[FloatArray], Peer], rounds: int, clicks: bool = False) -> Turn:
    """The next `rounds` of a decide + update loop on one problem; the state goes on from turn to turn.

    `clicks`: rewards are cut to [0, 1].
    """
    rng = np.random.default_rng(0)
    drawn = sphere().draw(rng)
    assert isinstance(drawn.arms, FiniteArms)
    peer = make(drawn.arms.features)
    means = (drawn.arms.features @ drawn.theta).tolist()

    def turn() -> float:
        noises = rng.normal(0.0, NOISE, rounds).tolist()
        start = time.perf_counter()
        for noise in noises:
            arm = peer.decide()
            peer.update(
                arm, min(max(means[arm] + noise, 0.0), 1.0) if clicks else means[arm] + noise
            )
        return (time.perf_counter() - start) / rounds * 1e6

    return turn
