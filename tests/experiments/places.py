"""Where experiments of the tests live: every test of what they do is run in memory, on a disk and in PostgreSQL."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ensample as es
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite import SQLiteStorage
from experiments.ticking import Ticking, counted

SMALL = es.EnsembleSampling(size=10)
NAMES = ["sport", "politics", "culture"]

News = Callable[..., es.Experiment]


class Place:
    """Makes experiments, and knows how to leave and find them again."""

    def __init__(self, kind: str, folder: Path, pool: PostgresPool | None = None) -> None:
        self.kind, self.folder, self.pool = kind, folder, pool
        self.name = secrets.token_hex(6)
        self.made: list[es.Experiment] = []

    def storage(self) -> Storage:
        if self.kind == "memory":
            return MemoryStorage()
        if self.pool is not None:
            return PostgresStorage(self.pool, f"{self.name}-{len(self.made)}")
        return SQLiteStorage(
            self.folder / f"{len(self.made)}.db", synchronous="OFF"
        )  # what it does, not whether it lasts

    def news(self, clock: Ticking | None = None, **settings: Any) -> es.Experiment:
        given = {
            "actions": NAMES,
            "recipe": SMALL,
            "reward": es.Reward(wait="30 min", default=0),
            "seed": 0,
        } | settings
        self.made.append(
            experiment_in(self.storage(), {"name": "news"}, given, clock or Ticking(), counted())
        )
        return self.made[-1]

    def check(self) -> None:
        """All that was made is what its events come to, and is found again as it was left."""
        for place, experiment in enumerate(self.made):
            experiment.verify()
            hash, log, clock = experiment.hash, experiment.log(), experiment.engine.clock
            experiment.close()
            if self.kind == "disk":
                recipe = experiment.settings.recipe
                with es.open_experiment(
                    self.folder / f"{place}.db", recipe=recipe, clock=clock, verify=True
                ) as again:
                    assert again.hash == hash and again.log().equals(log)
            if self.pool is not None:
                storage = PostgresStorage(self.pool, f"{self.name}-{place}")
                with experiment_in(
                    storage, {}, {"recipe": experiment.settings.recipe}, clock
                ) as again:
                    again.verify()
                    assert again.hash == hash and again.log().equals(log)
