"""Experiments in every place they can live: in memory, on a disk, in PostgreSQL."""

import secrets
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite import SQLiteStorage

SMALL = es.EnsembleSampling(size=10)
NAMES = ["sport", "politics", "culture"]
RULES = es.Reward(wait="30 min", default=0)

News = Callable[..., es.Experiment]


class Ticking:
    """A clock that is set by the test: seconds since 1970."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def counted() -> Callable[[], str]:
    """Return a function that gives d0, d1, d2, ..."""
    numbers = count()
    return lambda: f"d{next(numbers)}"


class Place:
    """Makes experiments in one place, and finds them again."""

    def __init__(self, kind: str, folder: Path, pool: PostgresPool | None = None) -> None:
        self.kind, self.folder, self.pool = kind, folder, pool
        self.name = secrets.token_hex(6)
        self.made: list[es.Experiment] = []

    def storage(self, number: int) -> Storage:
        if self.kind == "memory":
            return MemoryStorage()
        if self.pool is not None:
            return PostgresStorage(self.pool, f"{self.name}-{number}")
        return SQLiteStorage(self.folder / f"{number}.db", synchronous="OFF")

    def news(self, clock: Ticking | None = None, **settings: Any) -> es.Experiment:
        given = {"actions": NAMES, "recipe": SMALL, "reward": RULES, "seed": 0} | settings
        storage, clock = self.storage(len(self.made)), clock or Ticking()
        self.made.append(experiment_in(storage, {"name": "news"}, given, clock, counted()))
        return self.made[-1]

    def check(self) -> None:
        """Check that all that was made is what its events come to, and is found as it was left."""
        for number, experiment in enumerate(self.made):
            experiment.verify()
            hash, log, clock = experiment.hash, experiment.log(), experiment.engine.clock
            experiment.close()
            if self.kind == "memory":
                continue
            given = {"recipe": experiment.settings.recipe}
            with experiment_in(self.storage(number), {}, given, clock) as again:
                again.verify()
                assert again.hash == hash and again.log().equals(log)


def played(news: News, rounds: int = 60, **settings: Any) -> es.Experiment:
    """Return an experiment with decisions, rewards, activations and changes of actions."""
    clock = Ticking()
    experiment = news(clock, **settings)
    rng = np.random.default_rng(5)
    for number in range(rounds):
        context = {"city": f"c{rng.integers(8)}", "age": int(rng.integers(60))}
        decision = experiment.decide(context, active=bool(number % 5))
        clock.move(100)
        if number % 3:
            experiment.reward(decision, float(rng.random()))
        if number % 5 == 0:
            experiment.activate(decision)
        if number == 20:
            experiment.add("weather", {"sun": 1})
            experiment.remove("sport")
    return experiment
