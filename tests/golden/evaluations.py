"""Evaluations whose numbers are stored: every kind of target and every option, on small logs."""

from typing import Any

import numpy as np
import polars as pl

import ensample as es
from evaluation.logs import ACTIONS, World

WORLD = World(1)


def logged() -> pl.DataFrame:
    return WORLD.log(700, 2)


def shifting() -> pl.DataFrame:
    """A log of a policy whose propensities change from row to row."""
    rng = np.random.default_rng(3)
    return WORLD.frame(rng.normal(size=(500, 5)), rng.dirichlet(np.full(10, 5.0), 500), rng)


def mixed() -> pl.DataFrame:
    """Contexts with words and nested fields, an action that comes later, and decisions that
    wait."""
    rng = np.random.default_rng(4)
    rows = []
    for place in range(400):
        offer = ["a", "b", "c"] if place >= 150 else ["a", "b"]
        chosen = int(rng.integers(len(offer)))
        context = {"device": str(rng.choice(["phone", "desk"])), "user": {"age": float(place % 50)}}
        outcome = "waiting" if place >= 380 and place % 4 == 0 else "reward"
        reward = None if outcome == "waiting" or place % 23 == 0 else float(rng.normal(chosen, 1.0))
        rows.append(
            {
                "action": offer[chosen],
                "propensity": 1 / len(offer),
                "reward": reward,
                "offer": offer,
            }
            | {"propensities": [1 / len(offer)] * len(offer), "context": context}
            | {"outcome": outcome, "active": place % 31 != 0}
        )
    return pl.DataFrame(rows)


def policy() -> es.Policy:
    policy = es.EnsembleSampling(20).start(es.FiniteArms(np.eye(3)), seed=0)
    policy.update_many([0, 1, 2, 0], [1.0, 0.0, 0.0, 1.0])
    return policy


def chosen_only() -> pl.DataFrame:
    return logged().select("action", "propensity", "reward", "context")


def numbered() -> pl.DataFrame:
    rows = {"action": ["0", "1", "2"] * 50, "propensity": [1 / 3] * 150}
    return pl.DataFrame(rows | {"reward": [1.0, 0.0, 0.5] * 50})


def older(contexts: list[Any], names: list[str], offers: list[dict[str, Any]]) -> list[Any]:
    return [
        {"a": 0.25, "b": 0.75} if context["user"]["age"] < 20 else list(offer)[-1]
        for context, offer in zip(contexts, offers, strict=True)
    ]


def clicks(target: Any, log: pl.DataFrame | None = None, **options: Any) -> es.Evaluation:
    return es.evaluate(logged() if log is None else log, target, low=0, high=1, **options)


def cases() -> dict[str, es.Evaluation]:
    recipe, thirty = es.EnsembleSampling(20), logged().head(120)
    renamed = mixed().rename({"action": "arm", "reward": "earned"})
    spread = mixed().unnest("context").unnest("user")
    return {
        "logged": clicks("logged"),
        "uniform": clicks("uniform", segments="action"),
        "one action": clicks("action:a3"),
        "function": clicks(WORLD.target),
        "function, shifting": clicks(WORLD.target, shifting(), alarm=0.01),
        "function, normal": clicks(WORLD.target, interval="normal"),
        "own reward model": clicks(WORLD.target, shifting(), reward_model=WORLD.predicted),
        "chosen only": clicks(WORLD.target, chosen_only()),
        "chosen only, logged": clicks("logged", chosen_only()),
        "least propensity": clicks(WORLD.target, chosen_only(), least_propensity=0.1),
        "progressive": clicks(recipe, thirty),
        "replay": clicks(recipe, thirty, question="replay"),
        "policy": clicks(policy(), numbered()),
        "experiment": clicks(es.Experiment("x", actions=ACTIONS, recipe=recipe, seed=1), thirty),
        "cut": es.evaluate(mixed(), older, segments="user.age"),
        "drop": es.evaluate(mixed(), older, missing="drop", segments="device"),
        "zero": es.evaluate(mixed(), "uniform", missing="zero", low=-10, high=10),
        "late action": es.evaluate(mixed(), "action:c"),
        "columns": es.evaluate(renamed, older, columns={"action": "arm", "reward": "earned"}),
        "spread": es.evaluate(spread, "uniform", columns={"context": ["device", "age"]}),
    }


def numbers(found: es.Evaluation) -> dict[str, Any]:
    """All that an evaluation tells, as JSON: the path as values and bounds of its looks."""
    path = found.path().filter(pl.col("estimator") == "dr").select("rows", "value", "low", "high")
    return found.to_dict() | {
        "path": [list(row) for row in path.rows()[::6]],
        "weights": found.weight_counts.tolist(),
        "actions": found.actions,
        "repr": repr(found),
    }


def frozen() -> dict[str, Any]:
    return {name: numbers(found) for name, found in cases().items()}
