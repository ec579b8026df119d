"""Studies: tables, names, addresses and digests of cells, and numbers of results.

Digests name the files of finished cells, so they must never change.
"""

import hashlib
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from ensample.lab import BUNDLED, bundled
from golden.runs import FADING, LINEAR, LOGISTIC, NETWORKS, PROBLEMS

RECIPES = LINEAR | FADING | LOGISTIC | NETWORKS
NOT_PLAIN = ("own rule", "own link", "own link, exact")  # with objects of this test's own

WORDS = """
name = "words"
question = "What do words stand for?"
horizon = [50, 100]
runs = 7
seed = 3
checkpoints = 10
baseline = "TS"

[[problem]]
family = "sphere"
dim = [2, 3]
arms = 5
noise = [0.3, { kind = "RademacherNoise", scale = 0.3 }]

[[problem]]
label = "round"
family = "ball"
horizon = 40

[[policy]]
recipe = "EnsembleSampling"
theorem = true
delta = 0.1
problems = ["sphere"]

[[policy]]
label = "ES"
recipe = "EnsembleSampling"
size = [1, 4]
reward = { kind = "CenteredBinomial", trials = 3, scale = "noise" }
initial = "Gaussian"
member = ["RoundRobin", { kind = "StickyMember", rounds = 3 }]

[[policy]]
label = "UCB"
recipe = "LinUCB"
radius = ["2 noise", "0.5 radius", 1.5, "auto"]

[[policy]]
label = "TS"
recipe = { kind = "ThompsonSampling", scale = 0.5 }

[[policy]]
recipe = "PerturbedHistory"
half_life = "none"
scale = "auto"

[scales.paper]
runs = 70
problem = { dim = [2, 3, 4] }
"""

EAGER = {"label": "eager", "recipe": "EnsembleSampling", "size": 4, "problems": ["sphere"]}
EAGER["member"] = "OptimisticMember"
PUBLISHED = ("policy", "problem", "horizon", "dim", "value", "standard_error")
SECOND = {"policy": "TS", "problem": "sphere", "dim": 3, "horizon": 40, "scale": 0.1}

RESULTS: dict[str, Any] = {
    "name": "results",
    "horizon": [40, 80, 160],
    "runs": 6,
    "checkpoints": 20,
    "problem": [{"family": "sphere", "dim": [2, 3], "arms": 5}, {"family": "clicks", "dim": 3}],
    "policy": [
        {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4, 16]},
        EAGER,
        {"label": "TS", "recipe": "ThompsonSampling", "scale": [0.1, 0.3]},
        {"recipe": "EnsembleSampling", "theorem": True, "label": "1", "problems": ["sphere"]},
    ],
    "baseline": "TS",
    "published": [
        dict(zip(PUBLISHED, ("eager", "sphere", 80, 2, 10.0, 3.0), strict=True)),
        {**SECOND, "measure": "wrong", "value": 0.5},
    ],
}


def sha(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:20]


def cells(study: es.Study) -> list[list[Any]]:
    """Return name, address of random numbers, digest and constants of every cell."""
    return [
        [cell.name, cell.key, digest, repr(cell.recipe)]
        for cell, digest in zip(study.cells, study.digests, strict=True)
    ]


def of_bundled() -> dict[str, Any]:
    """Return hashes of the studies that come with the package, at both scales."""
    found = {}
    for name in BUNDLED:
        for scale in ("", "paper"):
            study = bundled(name, scale)
            found[f"{name} {scale}".strip()] = [
                len(study.cells), sha(study.describe()), sha(cells(study))
            ]  # fmt: skip
    return found


def of_objects() -> dict[str, Any]:
    """Return how a study writes down every recipe and every problem, and its cells."""
    sphere = es.problem("sphere", dim=3, arms=5)
    clicks = es.problem("logistic", dim=3, arms=5)
    found = {}
    for name, recipe in RECIPES.items():
        if name not in NOT_PLAIN:
            problem = clicks if name in LOGISTIC else sphere
            study = es.Study("objects", 400, {"label": "it", "recipe": recipe}, problem)
            found[name] = [study.describe()["policy"], cells(study)]
    for name, faced in PROBLEMS.items():
        study = es.Study("objects", 400, "Greedy", faced)
        problem = study.describe()["problem"]
        long = len(json.dumps(problem)) > 1000
        found[f"problem {name}"] = [sha(problem) if long else problem, cells(study)]
    return found


def of_words() -> dict[str, Any]:
    """Return what a file with units, laws, theorems and scales says."""
    studies = {scale: es.Study.parse(WORDS, scale=scale) for scale in ("", "paper")}
    return {scale: [study.describe(), cells(study)] for scale, study in studies.items()}


def plain(value: Any) -> Any:
    """Return NaN as a text, which JSON lacks."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def of_results() -> dict[str, Any]:
    """Return the frames of a study, the numbers in its files and their names."""
    with tempfile.TemporaryDirectory() as folder:
        results = es.run_study(es.Study(**RESULTS), folder, threads=1)
        names = sorted(path.name for path in (Path(folder) / "cells").iterdir())
        frames = {
            "cells": results.cells.drop("seconds_per_round"),
            "final": results.final.drop("regret"),  # hashed, below
            "curves": results.curves.filter(results.curves["round"] == results.curves["horizon"]),
            "pulls": results.pulls.head(20),
            "differences": results.differences(),
            "against ES": results.differences("ES"),
            "published": results.published(),
            "slopes": results.slopes(),
        }
        hashes = [
            [sha(np.round(part, 9).tolist()) for part in (outcome.regret, outcome.pulls)]
            for outcome in results.outcomes
            if outcome.pulls is not None
        ]
    found = {
        name: {column: list(map(plain, frame[column].to_list())) for column in frame.columns}
        for name, frame in frames.items()
    }
    found["final"] = {"hash": sha(found["final"])}
    return {"frames": found, "hashes": hashes, "files": [name[:22] for name in names]}


def of_simulations() -> dict[str, Any]:
    """Return a log of simulated runs, a comparison of two simulations, and a measurement."""
    found: dict[str, Any] = {}
    for name in ("sphere", "contextual"):
        problem = es.problem(name, dim=3, arms=4)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            es.simulate(es.EnsembleSampling(10), problem, 30, 2, seed=5, log=path)
            rows = json.loads(json.dumps(es.read_log(path).to_dicts(), default=str))
        found[f"log on {name}"] = [rows[0], len(rows), sha(rows)]
        ours, theirs = (
            es.simulate(recipe, problem, 200, 10, seed=2, cell=9, evaluation=way)
            for recipe, way in ((es.ThompsonSampling(), "auto"), (es.Greedy(), "live"))
        )
        found[f"difference on {name}"] = ours.difference(theirs).summary()
        measured = es.theory.measure(es.EnsembleSampling(20, 0.5), problem, 40, 3, seed=1)
        found[f"measured on {name}"] = repr(measured)
    return found


CASES = {
    "simulations": of_simulations,
    "bundled": of_bundled,
    "objects": of_objects,
    "words": of_words,
    "results": of_results,
}
