"""Valid calls of the bindings of cpp/bindings_linear.cpp."""

from typing import Any

import numpy as np

Arguments = dict[str, Any]


def sizes(rng: np.random.Generator) -> tuple[int, int]:
    """Return numbers of features and of arms."""
    return int(rng.integers(1, 7)), int(rng.integers(1, 40))


def grams(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    rows = rng.standard_normal((count, dim + 3, dim))
    return np.ascontiguousarray(rows.transpose(0, 2, 1) @ rows)


def state(dim: int) -> np.ndarray:
    """Return a ridge regression that has seen nothing."""
    matrices = np.zeros((3, dim, dim))
    matrices[0] = matrices[2] = np.eye(dim)
    rest = np.zeros((9, dim))
    rest[5] = 1.0  # the prior
    return np.vstack((*matrices, rest))


def observation(rng: np.random.Generator, dim: int) -> Arguments:
    return {"state": state(dim), "x": rng.standard_normal(dim), "y": float(rng.standard_normal())}


def stages_of(rng: np.random.Generator, dim: int) -> Arguments:
    count = int(rng.integers(1, 6))
    matrices = grams(rng, count, dim)
    return {
        "grams": matrices,
        "inverses": np.linalg.inv(matrices),
        "targets": rng.standard_normal((count, dim)),
        "means": rng.standard_normal((count, dim)),
    }


def learn_optimist(rng: np.random.Generator) -> Arguments:
    dim, _ = sizes(rng)
    return {**observation(rng, dim), "largest": np.zeros(1)}


def learn_staged(rng: np.random.Generator) -> Arguments:
    dim, arms = sizes(rng)
    return {
        **observation(rng, dim),
        **stages_of(rng, dim),
        "by_coordinate": rng.standard_normal((dim, arms)),
        "arm": int(rng.integers(-1, arms)),
        "radius": float(rng.choice([0.01, 0.1, 1.0])),
        "floor": 0.01,
    }


def learn_replicates(rng: np.random.Generator) -> Arguments:
    (dim, arms), count = sizes(rng), int(rng.integers(1, 6))
    return {
        **observation(rng, dim),
        "grams": grams(rng, count, dim),
        "targets": rng.standard_normal((count, dim)),
        "pulls": rng.integers(0, 3, arms),
        "weights": rng.standard_normal((count, 3)),
        "pseudo": 0.5,
        "arm": int(rng.integers(0, arms)),
    }


def learn_directions(rng: np.random.Generator) -> Arguments:
    (dim, _), count = sizes(rng), int(rng.integers(1, 9))
    return {
        **observation(rng, dim),
        "directions": rng.standard_normal((2 * count, dim)),
        "z": rng.standard_normal(count),
    }


def learn_pull(rng: np.random.Generator) -> Arguments:
    dim, arms = sizes(rng)
    return {
        **observation(rng, dim),
        "pulls": rng.integers(0, 3, arms),
        "arm": int(rng.integers(-1, arms)),
    }


def theta_of_directions(rng: np.random.Generator) -> Arguments:
    (dim, _), count = sizes(rng), int(rng.integers(1, 9))
    return {
        "state": state(dim),
        "directions": rng.standard_normal((2 * count, dim)),
        "weights": rng.standard_normal(count),
    }


def theta_of_pseudo_rewards(rng: np.random.Generator) -> Arguments:
    dim, arms = sizes(rng)
    return {
        "state": state(dim),
        "rows": rng.standard_normal((arms, dim)),
        "pulls": rng.integers(0, 200, arms),
        "a": 0.7,
        "lam": 1.0,
        "rng": np.random.default_rng(3),
    }


def optimistic_theta(rng: np.random.Generator) -> Arguments:
    dim, _ = sizes(rng)
    return {
        "inverse": grams(rng, 1, dim)[0],
        "mean": rng.standard_normal(dim),
        "x": rng.standard_normal(dim),
        "beta": 0.5,
    }


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
    "learn_directions": learn_directions,
    "learn_optimist": learn_optimist,
    "learn_pull": learn_pull,
    "learn_replicates": learn_replicates,
    "learn_staged": learn_staged,
    "optimistic_arm": optimistic_arm,
    "optimistic_theta": optimistic_theta,
    "solve_replicates": solve_replicates,
    "staged_arm": staged_arm,
    "theta_of_directions": theta_of_directions,
    "theta_of_pseudo_rewards": theta_of_pseudo_rewards,
    "unplayed": unplayed,
}
