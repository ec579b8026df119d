"""Valid calls of the bindings of cpp/bindings_models.cpp."""

from typing import Any

import numpy as np

from ensample import _core

Arguments = dict[str, Any]


def greedy_arm(rng: np.random.Generator) -> Arguments:
    dim, arms = rng.integers(1, 7), rng.integers(1, 40)
    return {"theta": rng.standard_normal(dim), "by_coordinate": rng.standard_normal((dim, arms))}


def greedy_arms(rng: np.random.Generator) -> Arguments:
    dim, arms, members = rng.integers(1, 7), rng.integers(1, 40), rng.integers(0, 300)
    return {
        "thetas": rng.standard_normal((dim, members)),
        "by_coordinate": rng.standard_normal((dim, arms)),
        "chosen": np.zeros(members, np.int64),
        "scores": np.zeros(members),
    }


def some_rows(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((rng.integers(1, 300), rng.integers(1, 8)))


def size_of_codes(rng: np.random.Generator) -> Arguments:
    return {"rows": some_rows(rng)}


def scan_arms(rng: np.random.Generator) -> Arguments:
    rows = some_rows(rng)
    return {"rows": rows, "theta": rng.standard_normal(rows.shape[1])}


def encode_arms(rng: np.random.Generator) -> Arguments:
    rows = some_rows(rng)
    return {
        "rows": rows,
        "table": np.zeros((4, rows.shape[1])),
        "codes": np.zeros(_core.size_of_codes(rows), np.uint8),
    }


def find_best_arm(rng: np.random.Generator) -> Arguments:
    arms = encode_arms(rng)
    _core.encode_arms(**arms)
    return {**arms, "theta": rng.standard_normal(arms["rows"].shape[1])}


def find_best_arms(rng: np.random.Generator) -> Arguments:
    arms, members = find_best_arm(rng), rng.integers(0, 5)
    arms["thetas"] = rng.standard_normal((arms.pop("theta").size, members))
    return {**arms, "chosen": np.zeros(members, np.int64), "scores": np.zeros(members)}


CALLS = {
    "encode_arms": encode_arms,
    "find_best_arm": find_best_arm,
    "find_best_arms": find_best_arms,
    "greedy_arm": greedy_arm,
    "greedy_arms": greedy_arms,
    "scan_arms": scan_arms,
    "size_of_codes": size_of_codes,
}
