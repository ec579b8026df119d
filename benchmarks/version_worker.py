"""Measure one version of ensample: a script that the Python of any version can run.

Used by `versions`, which starts it with the Python of two versions and an instruction-set level (""
in versions before the compiled core). It reads names of `CASES` from standard input and answers
each with the microseconds of a round.
"""

import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

import ensample as es

DIM, ARMS, NOISE, SCALE, HORIZON = 20, 100, 0.1, 0.3, 10_000
LIVE_ROUNDS, NETWORK_ROUNDS, FILLED = 1_000, 50, 600

Turn = Callable[[], float]


def stored(size: int, **more: Any) -> es.EnsembleSampling:
    return es.EnsembleSampling(size, fresh=False, ageing=0, **more)


def simulated(recipe: es.Recipe, family: es.Family | None = None) -> Turn:
    seeds = count()
    played = es.problem("sphere", dim=DIM, arms=ARMS, noise=NOISE) if family is None else family

    def turn() -> float:
        done = es.simulate(recipe, played, HORIZON, runs=5, seed=next(seeds), threads=1)
        return float(np.median(done.seconds)) / HORIZON * 1e6

    return turn


def live(
    recipe: es.Recipe, rounds: int = LIVE_ROUNDS, contexts: bool = False, clicks: bool = False
) -> Turn:
    """Return a turn of decide and update. The policy goes on from turn to turn."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ARMS, DIM))
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta = features[0] + 0.3 * rng.standard_normal(DIM)
    policy = recipe.start(es.ChangingArms(DIM) if contexts else es.FiniteArms(features), seed=0)

    def turn() -> float:
        offers = [rng.standard_normal((ARMS, DIM)) if contexts else None for _ in range(rounds)]
        noises = rng.normal(0.0, NOISE, rounds).tolist()
        start = time.perf_counter()
        for offer, noise in zip(offers, noises, strict=True):
            decision = policy.decide() if offer is None else policy.decide(offer)
            reward = float(decision.features @ theta) + noise
            policy.update(decision, float(reward > 0.5) if clicks else reward)
        return (time.perf_counter() - start) / rounds * 1e6

    return turn


def networks() -> Turn:
    rng = np.random.default_rng(0)
    recipe = es.EnsembleSampling(30, model=es.Neural((50, 50), batch=64))
    policy = recipe.start(es.FiniteArms(rng.standard_normal((100, 100))), seed=0)

    def play(rounds: int) -> float:
        rewards = rng.standard_normal(rounds).tolist()
        start = time.perf_counter()
        for reward in rewards:
            policy.update(policy.decide(), reward)
        return (time.perf_counter() - start) / rounds * 1e6

    play(FILLED)
    return lambda: play(NETWORK_ROUNDS)


def logistic_family() -> es.Family:
    return es.problem("logistic", dim=DIM, arms=ARMS, features="sphere")


CASES: dict[str, Callable[[], Turn]] = {
    "simulated, m=100, known": lambda: simulated(stored(100, scale=SCALE)),
    "simulated, m=1,000, known": lambda: simulated(stored(1_000, scale=SCALE)),
    "simulated, m=29,000, known": lambda: simulated(stored(29_000, scale=SCALE)),
    "simulated, m=100, learned": lambda: simulated(stored(100)),
    "simulated, m=1,000, learned": lambda: simulated(stored(1_000)),
    "simulated, m=29,000, learned": lambda: simulated(stored(29_000)),
    "simulated, default": lambda: simulated(es.EnsembleSampling()),
    "simulated, LinUCB": lambda: simulated(es.LinUCB()),
    "simulated, Thompson sampling": lambda: simulated(es.ThompsonSampling()),
    "simulated, logistic": lambda: simulated(
        es.EnsembleSampling(model=es.Logistic()), logistic_family()
    ),
    "live, default": lambda: live(es.EnsembleSampling()),
    "live, 100 stored members": lambda: live(stored(100, scale=SCALE)),
    "live, contexts, default": lambda: live(es.EnsembleSampling(), contexts=True),
    "live, contexts, 100 stored members": lambda: live(stored(100), contexts=True),
    "live, logistic": lambda: live(es.EnsembleSampling(model=es.Logistic()), clicks=True),
    "live, 30 networks": networks,
}


def main(level: str) -> None:
    if level:
        from ensample import _core

        _core.use_level(level)
    turns: dict[str, Turn] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in turns:
            turns[name] = CASES[name]()
            turns[name]()  # the first turn may load modules, or compile where the version has numba
        print(turns[name](), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
