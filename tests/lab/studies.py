"""Small studies that the tests run, and the files that they leave."""

from pathlib import Path
from typing import Any

import ensample as es

SPHERE: dict[str, Any] = {"family": "sphere", "dim": [2, 3], "arms": 5}
POLICIES: list[dict[str, Any]] = [
    {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4], "scale": "noise"},
    {"label": "TS", "recipe": "ThompsonSampling", "scale": "noise"},
]
LINUCB = {"label": "UCB", "recipe": "LinUCB"}
TOML = """
name = "small"
horizon = 60
runs = 6

[problem]
family = "sphere"
dim = [2, 3]
arms = 5

[[policy]]
label = "ES"
recipe = "EnsembleSampling"
size = [1, 4]
scale = "noise"

[[policy]]
label = "TS"
recipe = "ThompsonSampling"
scale = "noise"

[scales.paper]
runs = 12
problem = { dim = [2, 3, 4] }
"""


def small(**changes: Any) -> es.Study:
    """Return a study of six cells, a few milliseconds each."""
    given = {"name": "small", "horizon": 60, "runs": 6, "problem": SPHERE, "policy": POLICIES}
    return es.Study(**(given | changes))


def slow(runs: int = 6, sizes: tuple[int, ...] = (1, 2, 4, 8, 16), dims: int = 6) -> es.Study:
    """Return a study whose cells take a tenth of a second each: time to be killed in."""
    problem = SPHERE | {"dim": list(range(2, 2 + dims))}
    policies = [{**POLICIES[0], "size": list(sizes)}, POLICIES[1]]
    return small(name="slow", horizon=40_000, runs=runs, problem=problem, policy=policies)


def cell_files(folder: Path) -> dict[str, bytes]:
    """Return the files of cells, byte for byte; a checksum is part of a name."""
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").iterdir())}


def parquet_files(folder: Path) -> dict[str, bytes]:
    """Return `cell_files` without what was set aside."""
    return {path.name: path.read_bytes() for path in (folder / "cells").glob("*.parquet")}


def file_of(folder: Path, number: int) -> Path:
    """Return the file of a cell of the small study."""
    (path,) = (folder / "cells").glob(f"{small().digests[number]}-*.parquet")
    return path
