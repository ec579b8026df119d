"""Valid calls of the bindings of cpp/bindings_linear.cpp."""

from typing import Any

import numpy as np

from ensample import _core
from ensample.models.logistic import LOGISTIC_LINK
from ensample.models.ridge import new_ridge, new_scales

Arguments = dict[str, Any]


def state_of(rng: np.random.Generator, dim: int, fading: bool = False) -> np.ndarray:
    """Return a ridge regression after some observations."""
    state = new_ridge(dim, 1.0, 0.01 if fading else 0.0)
    for _ in range(rng.integers(0, 70)):
        _core.learn_ridge(state, rng.standard_normal(dim), float(rng.standard_normal()))
    return state


def scales_of(rng: np.random.Generator, dim: int) -> Arguments:
    """Return the arguments by which scales are learned, or none of them."""
    if rng.random() < 0.4:
        return {}
    intercept = bool(dim > 1 and rng.random() < 0.5)
    strength, sizes_given = float(rng.choice([0.0, 2.0])), bool(rng.random() < 0.5)
    return {"learning": (new_scales(np.zeros(dim), 0.0), strength, sizes_given, intercept)}


def square(rng: np.random.Generator, dim: int) -> np.ndarray:
    """Return a positive definite matrix."""
    rows = rng.standard_normal((dim + 3, dim))
    return np.ascontiguousarray(rows.T @ rows)


def root(rng: np.random.Generator, dim: int) -> np.ndarray:
    return np.ascontiguousarray(np.linalg.cholesky(square(rng, dim)).T)


def observed(rng: np.random.Generator, dim: int) -> Arguments:
    return {"x": rng.standard_normal(dim), "y": float(rng.integers(0, 2))}


def link_or_none(rng: np.random.Generator) -> Arguments:
    return {"link": LOGISTIC_LINK} if rng.random() < 0.3 else {}


def size(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 7))


def learn_ridge(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    state = state_of(rng, dim, bool(rng.integers(2)))
    return {"state": state, **observed(rng, dim), **scales_of(rng, dim), **link_or_none(rng)}


def members(rng: np.random.Generator, dim: int, state: np.ndarray) -> Arguments:
    return {"state": state, "sums": rng.standard_normal((rng.choice([2, 3]) * dim, size(rng)))}


def learn_members(rng: np.random.Generator) -> Arguments:
    dim, fading = size(rng), bool(rng.integers(2))
    known = members(rng, dim, state_of(rng, dim, fading))
    count = known["sums"].shape[1]
    return {
        **known,
        **observed(rng, dim),
        "z": rng.standard_normal(count),
        "fresh": rng.standard_normal((dim, count)) if fading else None,
        **scales_of(rng, dim),
    }


def learn_members_beside_an_intercept(rng: np.random.Generator) -> Arguments:
    dim = size(rng) + 1
    known = members(rng, dim, state_of(rng, dim))
    z = rng.standard_normal(known["sums"].shape[1])
    return {**known, **observed(rng, dim - 1), "z": z, "origin": np.zeros(1)}


def learn_members_somehow(rng: np.random.Generator) -> Arguments:
    return learn_members_beside_an_intercept(rng) if rng.random() < 0.3 else learn_members(rng)


def learn_history(rng: np.random.Generator) -> Arguments:
    dim, arms = size(rng), size(rng)
    return {
        "state": state_of(rng, dim),
        "root": np.zeros((dim, dim)),
        "pulls": np.zeros(arms, np.int64),
        "arm": int(rng.integers(-1, arms)),
        **observed(rng, dim),
        **scales_of(rng, dim),
    }


def learn_rooted(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    return {
        "state": state_of(rng, dim),
        "root": root(rng, dim),
        "rooted": rng.standard_normal(dim) if rng.integers(2) else None,
        **observed(rng, dim),
        **link_or_none(rng),
    }


def learn_posterior(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    known = {"state": state_of(rng, dim), "root": root(rng, dim), "rewards": np.zeros(3)}
    return {**known, **observed(rng, dim)}


def learn_fresh(rng: np.random.Generator) -> Arguments:
    dim, ageing = size(rng), bool(rng.integers(2))
    return {
        "state": state_of(rng, dim),
        "root": np.zeros((dim, dim)),
        "gram_root": np.zeros((dim if ageing else 0, dim)),
        "ages": np.zeros(2),
        "ageing_rate": 0.1 if ageing else 0.0,
        **observed(rng, dim),
        **scales_of(rng, dim),
    }


def of_members(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    return {**members(rng, dim, state_of(rng, dim)), "factor": 1.5}


def of_one_member(rng: np.random.Generator) -> Arguments:
    known = of_members(rng)
    return {**known, "member": int(rng.integers(known["sums"].shape[1]))}


def arms_for(rng: np.random.Generator, state: np.ndarray) -> np.ndarray:
    return rng.standard_normal((state.shape[1], rng.integers(1, 40)))


def best_arm_of_member(rng: np.random.Generator) -> Arguments:
    known = of_one_member(rng)
    return {**known, "by_coordinate": arms_for(rng, known["state"])}


def offered(rng: np.random.Generator, state: np.ndarray) -> Arguments:
    return {"by_coordinate": arms_for(rng, state), "sizes": np.ones(state.shape[1])}


def vote(rng: np.random.Generator) -> Arguments:
    known = of_members(rng)
    return {**known, **offered(rng, known["state"])}


def fresh_thetas(rng: np.random.Generator) -> Arguments:
    dim, count = size(rng), int(rng.integers(1, 20))
    return {
        "state": state_of(rng, dim),
        "root": root(rng, dim),
        "prior_age": 0.5,
        "initial": 1.0,
        "reward": 0.5,
        "w": rng.standard_normal((count, dim)),
        "g": rng.standard_normal((count, dim)),
    }


def vote_fresh(rng: np.random.Generator) -> Arguments:
    known = fresh_thetas(rng)
    return {**known, **offered(rng, known["state"])}


def shift_mean(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    return {"state": state_of(rng, dim), "total": rng.standard_normal(dim)}


def add_rows(rng: np.random.Generator) -> Arguments:
    rows = rng.standard_normal((size(rng), size(rng)))
    weights = rng.standard_normal(len(rows))
    return {"total": np.zeros(rows.shape[1]), "rows": rows, "weights": weights}


def multiply(rng: np.random.Generator) -> Arguments:
    dim = size(rng)
    return {"matrix": square(rng, dim), "vector": rng.standard_normal(dim)}


def a_square(rng: np.random.Generator) -> Arguments:
    return {"matrix": square(rng, size(rng))}


CALLS = {
    "add_rows": add_rows,
    "best_arm_of_member": best_arm_of_member,
    "cholesky": a_square,
    "fresh_thetas": fresh_thetas,
    "invert": a_square,
    "learn_fresh": learn_fresh,
    "learn_history": learn_history,
    "learn_members": learn_members_somehow,
    "learn_posterior": learn_posterior,
    "learn_ridge": learn_ridge,
    "learn_rooted": learn_rooted,
    "member_theta": of_one_member,
    "member_thetas": of_members,
    "multiply": multiply,
    "shift_mean": shift_mean,
    "vote": vote,
    "vote_fresh": vote_fresh,
}
