"""Valid calls of the bindings of cpp/bindings_recipes.cpp."""

from typing import Any

import numpy as np

__all__ = ["CALLS"]

Arguments = dict[str, Any]


def sizes(rng: np.random.Generator) -> tuple[int, int]:
    """Return numbers of features and of arms."""
    return int(rng.integers(1, 7)), int(rng.integers(1, 40))


def grams(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    rows = rng.standard_normal((count, dim + 3, dim))
    return np.ascontiguousarray(rows.transpose(0, 2, 1) @ rows)


def optimistic_arm(rng: np.random.Generator) -> Arguments:
    dim, arms = sizes(rng)
    return {
        "inverse": grams(rng, 1, dim)[0],
        "mean": rng.standard_normal(dim),
        "by_coordinate": rng.standard_normal((dim, arms)),
        "beta": 0.5,
    }


def staged_arm(rng: np.random.Generator) -> Arguments:
    (dim, arms), stages = sizes(rng), int(rng.integers(1, 6))
    return {
        "inverses": grams(rng, stages, dim),
        "means": rng.standard_normal((stages, dim)),
        "by_coordinate": rng.standard_normal((dim, arms)),
        "radius": float(rng.choice([0.01, 0.1, 1.0])),
        "floor": 0.01,
    }


def best_pair(rng: np.random.Generator) -> Arguments:
    _, arms = sizes(rng)
    return {"gaps": rng.random(arms), "gains": rng.random(arms), "means": rng.standard_normal(arms)}


def informed_pair(rng: np.random.Generator) -> Arguments:
    (dim, arms), members = sizes(rng), int(rng.integers(1, 30))
    return {
        "thetas": rng.standard_normal((dim, members)),
        "by_coordinate": rng.standard_normal((dim, arms)),
    }


def solve_replicates(rng: np.random.Generator) -> Arguments:
    (dim, _), count = sizes(rng), int(rng.integers(1, 6))
    return {
        "grams": grams(rng, count, dim),
        "targets": rng.standard_normal((count, dim)),
        "thetas": np.zeros((count, dim)),
    }


def unplayed(rng: np.random.Generator) -> Arguments:
    _, arms = sizes(rng)
    return {
        "basis": rng.integers(0, arms, 3),
        "pulls": rng.integers(0, 2, arms),
        "round": int(rng.integers(0, 9)),
    }


CALLS = {
    "best_pair": best_pair,
    "informed_pair": informed_pair,
    "optimistic_arm": optimistic_arm,
    "solve_replicates": solve_replicates,
    "staged_arm": staged_arm,
    "unplayed": unplayed,
}
