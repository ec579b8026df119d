"""Small studies that the tests run."""

from typing import Any

from ensample import Study

SPHERE: dict[str, Any] = {"family": "sphere", "dim": [2, 3], "arms": 5}
POLICIES: list[dict[str, Any]] = [
    {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4], "scale": "noise"},
    {"label": "TS", "recipe": "ThompsonSampling", "scale": "noise"},
]


def small(**changes: Any) -> Study:
    """Six cells, a few milliseconds each."""
    given: dict[str, Any] = {
        "name": "small",
        "horizon": 60,
        "runs": 6,
        "problem": SPHERE,
        "policy": POLICIES,
    }
    return Study(**(given | changes))


def slow() -> Study:
    """36 cells of about a tenth of a second each: time to be killed in."""
    dims = [*range(2, 8)]
    sizes = [1, 2, 4, 8, 16]
    policies = [{**POLICIES[0], "size": sizes}, POLICIES[1]]
    return small(
        name="slow",
        horizon=40_000,
        runs=6,
        problem={"family": "sphere", "dim": dims, "arms": 5},
        policy=policies,
    )


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
