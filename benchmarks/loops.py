"""Timed loops over our simulator, live policies, experiments and studies."""

import os
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from benchmarks.rivals import Player, PolicyPlayer
from benchmarks.timing import Turn
from ensample.types import FloatArray

DIM, ARMS, NOISE, SCALE, HORIZON = 20, 100, 0.1, 0.3, 10_000

MEMBERS, INPUTS, WIDTH, BATCH = 30, 100, 50, 64  # of networks
FILLED = 600  # rounds before networks are timed: from then on a round trains on a whole batch

MANY_ARMS, MANY_DIM, VOTERS = 10**6, 32, 100

ACTIONS = [f"action {number}" for number in range(10)]
RECIPE = es.EnsembleSampling(size=100)
COLUMNS = 54  # of the contexts below with ten actions
DECISIONS, THREADS, EACH = 500, 32, 40


def sphere() -> es.Family:
    return es.problem("sphere", dim=DIM, arms=ARMS, noise=NOISE)


def simulated(recipe: es.Recipe, family: es.Family, horizon: int = HORIZON, runs: int = 5) -> Turn:
    """Return turns of our simulator on one thread, with a new seed each: the median of its runs."""
    seeds = count()

    def turn() -> float:
        done = es.simulate(recipe, family, horizon, runs, next(seeds), threads=1)
        return float(np.median(done.seconds)) / horizon * 1e6

    return turn


def threaded(recipe: es.Recipe, threads: int, horizon: int = 10 * HORIZON, runs: int = 8) -> Turn:
    """Return turns of our simulator, timed by the clock on the wall."""

    def turn() -> float:
        start = time.perf_counter()
        es.simulate(recipe, sphere(), horizon, runs, threads=threads)
        return (time.perf_counter() - start) / (horizon * runs) * 1e6

    return turn


def played(make: Callable[[FloatArray], Player], rounds: int, clicks: bool = False) -> Turn:
    """Return turns of a loop of decide and update on one sphere problem.

    The state goes on from turn to turn.

    With `clicks` rewards are cut to [0, 1].
    """
    rng = np.random.default_rng(0)
    problem = sphere().draw(rng)
    assert isinstance(problem, es.LinearProblem) and isinstance(problem.arms, es.FiniteArms)
    player = make(problem.arms.features)
    means = (problem.arms.features @ problem.theta).tolist()

    def turn() -> float:
        noises = rng.normal(0.0, NOISE, rounds).tolist()
        start = time.perf_counter()
        for noise in noises:
            arm = player.decide(None)
            reward = means[arm] + noise
            player.update(arm, min(max(reward, 0.0), 1.0) if clicks else reward)
        return (time.perf_counter() - start) / rounds * 1e6

    return turn


def live(recipe: es.Recipe, rounds: int, clicks: bool = False) -> Turn:
    """Return turns of a live policy on standing arms."""
    return played(
        lambda features: PolicyPlayer(recipe.start(es.FiniteArms(features), seed=0)), rounds, clicks
    )


def network_rounds(rounds: int, changing: bool) -> Turn:
    """Return turns of networks with two hidden layers, on standing or changing arms."""
    rng = np.random.default_rng(0)
    model = es.Neural((WIDTH, WIDTH), batch=BATCH)
    standing = es.FiniteArms(rng.standard_normal((ARMS, INPUTS)))
    arms = es.ChangingArms(INPUTS) if changing else standing
    policy = es.EnsembleSampling(MEMBERS, model=model).start(arms, seed=0)

    def play(count: int) -> float:
        offers = [rng.standard_normal((ARMS, INPUTS)) if changing else None for _ in range(count)]
        rewards = rng.standard_normal(count).tolist()
        start = time.perf_counter()
        for offer, reward in zip(offers, rewards, strict=True):
            policy.update(policy.decide(offer), reward)
        return (time.perf_counter() - start) / count * 1e6

    play(FILLED)
    return lambda: play(rounds)


def many_arms() -> es.Policy:
    """Start a policy on a million Gaussian arms, which are the hardest for an index."""
    features = np.random.default_rng(0).standard_normal((MANY_ARMS, MANY_DIM))
    features.setflags(write=False)  # the policy shares an array that is read-only
    return partly_trained(es.FiniteArms(features))


def partly_trained(arms: es.FiniteArms, rewards: int = 50) -> es.Policy:
    """Start a policy and let its members agree on something."""
    rng = np.random.default_rng(1)
    policy = es.EnsembleSampling(VOTERS).start(arms, seed=0)
    theta = rng.standard_normal(MANY_DIM)
    for arm in rng.integers(MANY_ARMS, size=rewards):
        policy.update(int(arm), float(arms.features[arm] @ theta + rng.standard_normal()))
    return policy


def decide_and_update(policy: es.Policy, rounds: int = 20) -> Turn:
    def turn() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            decision = policy.decide()
            policy.update(decision, float(decision.features[0]))
        return (time.perf_counter() - start) / rounds * 1e6

    return turn


def vote(policy: es.Policy) -> Turn:
    """Return turns of the exact propensities of all arms, in microseconds a member."""

    def turn() -> float:
        policy.update(0, 0.0)  # otherwise the votes would be cached
        start = time.perf_counter()
        policy.propensities()
        return (time.perf_counter() - start) / VOTERS * 1e6

    return turn


def contexts() -> list[dict[str, Any]]:
    """Draw contexts with three entries, which with ten actions make COLUMNS columns."""
    rng = np.random.default_rng(0)
    devices = rng.choice(["phone", "tablet"], DECISIONS).tolist()
    ages, new = rng.normal(size=DECISIONS).tolist(), (rng.random(DECISIONS) < 0.5).tolist()
    return [
        {"age": age, "device": device, "new": is_new}
        for age, device, is_new in zip(ages, devices, new, strict=True)
    ]


def experiment_decisions() -> Turn:
    """Return turns of decisions of an experiment in memory.

    Rewards come after each, outside the clock.
    """
    experiment = es.Experiment("benchmark", actions=ACTIONS, recipe=RECIPE, seed=0)
    rewards = np.random.default_rng(1).random(DECISIONS).tolist()
    offered = contexts()

    def turn() -> float:
        spent = 0.0
        for context, reward in zip(offered, rewards, strict=True):
            start = time.perf_counter()
            decision = experiment.decide(context)
            spent += time.perf_counter() - start
            experiment.reward(decision, reward)
        return spent / DECISIONS * 1e6

    return turn


def policy_decisions() -> Turn:
    """Return turns of the same decisions by the bare policy, with the propensities of all arms."""
    rng = np.random.default_rng(2)
    policy = RECIPE.start(es.ChangingArms(COLUMNS), seed=0, log=None)

    def turn() -> float:
        spent = 0.0
        for rows in rng.normal(size=(DECISIONS, len(ACTIONS), COLUMNS)):
            start = time.perf_counter()
            policy.propensities(rows)
            decision = policy.decide(rows)
            spent += time.perf_counter() - start
            policy.update(decision, 0.5)
        return spent / DECISIONS * 1e6

    return turn


def durable_decisions(folder: Path) -> Turn:
    """Return turns of decisions of an experiment on the disk, from 32 threads."""
    numbers, offered = count(), contexts()[:EACH]

    def turn() -> float:
        path = folder / f"{next(numbers)}.db"
        with es.open_experiment(path, actions=ACTIONS, recipe=RECIPE, seed=0) as experiment:
            experiment.decide(offered[0])

            def work() -> None:
                for context in offered:
                    experiment.decide(context)

            threads = [threading.Thread(target=work) for _ in range(THREADS)]
            start = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return (time.perf_counter() - start) / (THREADS * EACH) * 1e6

    return turn


def disk_syncs(folder: Path, times: int = 20) -> Turn:
    """Return turns of writing 4 KiB to the disk."""

    def turn() -> float:
        with tempfile.TemporaryFile(dir=folder) as file:
            start = time.perf_counter()
            for _ in range(times):
                file.write(bytes(4096))
                file.flush()
                os.fdatasync(file.fileno())
            return (time.perf_counter() - start) / times * 1e6

    return turn


def study(seed: int, runs: int = 100) -> es.Study:
    """Return a study of four cells of a million rounds."""
    recipes: list[Any] = [
        {"recipe": "EnsembleSampling", "size": [100, 29_000], "scale": SCALE},
        {"recipe": "ThompsonSampling", "scale": SCALE},
        {"recipe": "LinUCB", "radius": 2 * NOISE},
    ]
    family = {"family": "sphere", "dim": DIM, "arms": ARMS, "noise": NOISE}
    return es.Study("benchmark", HORIZON, recipes, family, runs, seed)


def studied() -> Turn:
    """Return turns of `run_study` on one thread: drawing, running, collecting, writing, syncing."""
    seeds = count()

    def turn() -> float:
        defined = study(next(seeds))
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            es.run_study(defined, folder, threads=1)
            return round_time(defined, start)

    return turn


def study_simulated() -> Turn:
    """Return turns of `simulate` on the same cells, which keeps nothing on the disk."""
    seeds = count()

    def turn() -> float:
        defined = study(next(seeds))
        start = time.perf_counter()
        for cell in defined.cells:
            es.simulate(cell.recipe, cell.family, HORIZON, defined.runs, defined.seed, threads=1)
        return round_time(defined, start)

    return turn


def round_time(defined: es.Study, start: float) -> float:
    """Return the microseconds a round of a study that began at `start`."""
    rounds = sum(cell.horizon for cell in defined.cells) * defined.runs
    return (time.perf_counter() - start) / rounds * 1e6
