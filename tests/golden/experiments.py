"""Scripted experiments by recipe and features, through the public interface only."""

import hashlib
import json
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import ensample as es

ACTIONS = {"sport": {"price": 3}, "politics": {"price": 5, "kind": "long"}, "culture": None}
DEVICES = "phone", "tablet", "tv"
TAGS = [], ["tea"], ["tea", "tennis"]

FEATURES: dict[str, Any] = {
    "crosses": lambda: es.Crosses(),
    "columns": lambda: es.Columns("age", "user.visits"),
    "small cap": lambda: es.Crosses(cap=48),
    "hashed": lambda: es.Hashing(32),
    "disjoint": lambda: es.Disjoint(),
    "one hot": lambda: es.Disjoint(es.OneHot("device", most=2)),
    "disjoint hashed": lambda: es.Disjoint(es.Hashing(8)),
    "hybrid": lambda: es.Hybrid(es.Columns("price"), es.OneHot("device")),
}
RECIPES: dict[str, Any] = {
    "ensemble": lambda: es.EnsembleSampling(size=10),
    "stored": lambda: es.EnsembleSampling(size=10, scale=0.5, regularization=1.0),
    "greedy": lambda: es.Greedy(),
    "epsilon greedy": lambda: es.EpsilonGreedy(0.2),
    "thompson": lambda: es.ThompsonSampling(),
    "linucb": lambda: es.LinUCB(),
    "logistic": lambda: es.EnsembleSampling(size=8, model=es.Logistic(fit="stream")),
    "information": lambda: es.InformationDirected(),
}
CASES = {f"ensemble {name}": ("ensemble", name) for name in FEATURES}
CASES |= {f"{name} crosses": (name, "crosses") for name in RECIPES if name != "ensemble"}
INEXACT = ("linucb",)
"""Recipes that take a logarithm of the C library: their hash may differ between machines."""


def play(name: str) -> dict[str, Any]:
    """Play the script of a case and return what can be seen of it."""
    recipe, features = CASES[name]
    experiment = scripted(RECIPES[recipe](), FEATURES[features]())
    decisions = []
    for number in range(45):
        step(experiment, number, decisions)
    seen: dict[str, Any] = {
        "decisions": decisions,
        "propensities": experiment.propensities(context(99)),
        "columns": experiment.columns,
        "counts": experiment.counts,
        "version": experiment.version,
        "log": digest(experiment),
    }
    if recipe not in INEXACT:
        seen["hash"] = experiment.hash
    return json.loads(json.dumps(seen))


def scripted(recipe: es.Recipe, features: Any) -> es.Experiment:
    numbers, seconds = count(), count(1_700_000_000, 20)
    return es.Experiment(
        "golden",
        actions=ACTIONS,
        features=features,
        reward=es.Reward(wait="5 min", default=0),
        recipe=recipe,
        floor=0.1,
        baseline=("sport", 0.1),
        seed=7,
        clock=lambda: float(next(seconds)),
        ids=lambda: f"d{next(numbers)}",
    )


def context(number: int) -> dict[str, Any]:
    return {
        "age": 20 + number * 7 % 40,
        "device": DEVICES[number % 3],
        "tags": TAGS[number * 5 % 3],
        "user": {"visits": number % 4, "new": number % 5 == 0},
        "income": None if number % 6 == 0 else number / 4,
    }


def step(experiment: es.Experiment, number: int, decisions: list[Any]) -> None:
    """Take one decision, and what comes with it: rewards, late or twice, changes of actions."""
    asked: dict[str, Any] = {}
    if number % 7 == 3:
        asked["actions"] = ["sport", "culture"]
    if number % 11 == 5:
        asked["excluded"] = ["culture"]
    if number % 9 == 4:
        asked["active"] = False
    decision = experiment.decide(context(number), **asked)
    known = [] if decision.propensities is None else list(decision.propensities.values())
    decisions.append(
        [decision.action, decision.drawn, decision.member, decision.version, decision.time, known]
    )
    if number % 9 == 4 and number % 2 == 0:
        experiment.activate(decision.id)
    if number % 3 != 1:
        experiment.reward(decision.id, (number * 3 % 5) / 4)
    if number % 8 == 7:
        experiment.reward(f"d{number - 5}", 1, action="sport")
        experiment.reward(f"d{number - 7}", 1)
    if number == 20:
        experiment.add("weather", {"price": 1})
    if number == 30:
        experiment.change({"games": None}, "culture" if number > 40 else ["politics"])


def digest(experiment: es.Experiment) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.jsonl")
        experiment.to_jsonl(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
