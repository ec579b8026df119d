"""A decision through an experiment: in memory, beside the policy inside it; and on the disk, from many threads."""

import tempfile
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ensample.bench.timing import Turn
from ensample.experiments.experiment import Experiment
from ensample.experiments.opening import open_experiment
from ensample.policies import EnsembleSampling

ACTIONS = [f"action {number}" for number in range(10)]
RECIPE = EnsembleSampling(size=100)
DECISIONS, THREADS, EACH = 500, 32, 40


def contexts() -> list[dict[str, Any]]:
    """Four features each, which with ten actions make 54 columns."""
    rng = np.random.default_rng(0)
    devices = rng.choice(["phone", "tablet"], DECISIONS).tolist()
    ages, fresh = rng.normal(size=DECISIONS).tolist(), (rng.random(DECISIONS) < 0.5).tolist()
    return [
        {"age": age, "device": device, "new": new}
        for age, device, new in zip(ages, devices, fresh, strict=True)
    ]


def in_memory() -> Turn:
    """Microseconds a decision; a reward comes after each, outside the clock, so that every decision meets a new state."""
    experiment, given = Experiment("bench", actions=ACTIONS, recipe=RECIPE, seed=0), contexts()
    rewards = np.random.default_rng(1).random(DECISIONS).tolist()

    def turn() -> float:
        spent = 0.0
        for context, reward in zip(given, rewards, strict=True):
            start = time.perf_counter()
            decision = experiment.decide(context)
            spent += time.perf_counter() - start
            experiment.reward(decision, reward)
        return spent / DECISIONS * 1e6

    return turn


def bare_policy() -> Turn:
    """What the policy inside takes for the same: choosing, with the propensities of all arms."""
    from ensample.arms import ChangingArms

    rng = np.random.default_rng(2)
    policy = RECIPE.start(ChangingArms(54), seed=0, log=None)

    def turn() -> float:
        spent = 0.0
        for rows in rng.normal(size=(DECISIONS, 10, 54)):
            start = time.perf_counter()
            policy.propensities(rows)
            decision = policy.decide(rows)
            spent += time.perf_counter() - start
            policy.update(decision, 0.5)
        return spent / DECISIONS * 1e6

    return turn


def durable(folder: Path) -> Turn:
    """Microseconds a decision on the disk, from 32 threads."""
    numbers, given = count(), contexts()

    def turn() -> float:
        with open_experiment(
            folder / f"{next(numbers)}.db", actions=ACTIONS, recipe=RECIPE, seed=0
        ) as experiment:
            experiment.decide(given[0])

            def work() -> None:
                for context in given[:EACH]:
                    experiment.decide(context)

            threads = [threading.Thread(target=work) for _ in range(THREADS)]
            start = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return (time.perf_counter() - start) / (THREADS * EACH) * 1e6

    return turn


def synced(folder: Path) -> Turn:
    """Microseconds for 4 KiB to be on the disk."""
    import os

    def turn() -> float:
        with tempfile.TemporaryFile(dir=folder) as file:
            start = time.perf_counter()
            for _ in range(20):
                file.write(bytes(4096))
                file.flush()
                os.fdatasync(file.fileno())
            return (time.perf_counter() - start) / 20 * 1e6

    return turn
