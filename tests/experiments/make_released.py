"""Write the logs in `released/`: run it with the version whose logs are wanted, `python
make_released.py FOLDER`.

Those in the repository were written by version 0.2.0, which had one number for all models. They are
small, and have whatever a log can have: rewards that are late, sent twice or for nobody, decisions
that were never shown, actions that come and go.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

import ensample as es

RECIPES: dict[str, es.Recipe] = {
    "default": es.EnsembleSampling(size=10),
    "given": es.EnsembleSampling(size=10, scale=0.5, regularization=1.0),
    "linucb": es.LinUCB(),
    "logistic": es.EnsembleSampling(size=10, model=es.Logistic()),
    "networks": es.EnsembleSampling(size=3, model=es.Neural(hidden=(4,), memory=16, batch=8)),
}


def clock_and_ids() -> tuple[Callable[[], float], Callable[[], str]]:
    """Return a clock that moves a minute for each event, and ids that count."""
    minutes, numbers = count(1), count()
    return lambda: 1_700_000_000 + 60.0 * next(minutes), lambda: f"d{next(numbers)}"


def played(experiment: Any) -> None:
    past = pl.DataFrame({"age": [30, 31], "action": ["sport", "culture"], "reward": [1.0, 0.0]})
    experiment.learn(past)
    for number in range(30):
        context = {"age": 20 + number, "device": ("phone", "desk")[number % 2]}
        decision = experiment.decide(context, active=number % 7 != 5)
        if number % 7 == 5 and number > 10:
            experiment.activate(decision)
        if number % 5:
            experiment.reward(decision, (decision.action == "culture") * 1.0)
        if number % 10 == 3:
            experiment.reward(decision, 1.0)
            experiment.reward("nobody", 1.0)
        if number == 12:
            experiment.add({"weather": {"price": 2.0}})
        if number == 20:
            experiment.remove("politics")
            experiment.reward("d0", 1.0)
        experiment.decide(context, actions=["sport", "culture"])


def main(folder: Path) -> None:
    facts = {}
    for name, recipe in RECIPES.items():
        clock, ids = clock_and_ids()
        file = Path(tempfile.mkdtemp()) / f"{name}.db"
        with es.open_experiment(
            file,
            name,
            actions=["sport", "politics", "culture"],
            reward=es.Reward(0, 1, wait="30 min", default=0),
            recipe=recipe,
            floor=0.1,
            baseline=("sport", 0.1),
            seed=3,
            clock=clock,
            ids=ids,
        ) as experiment:
            experiment.engine.snapshots.every = 50
            played(experiment)
            log = experiment.log()
            columns = ["id", "action", "propensities", "member", "drawn", "reward", "outcome"]
            facts[name] = {"hash": experiment.hash, "rows": log.select(columns).rows()}
        (folder / f"{name}.db.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    (folder / "facts.json").write_text(json.dumps(facts, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
