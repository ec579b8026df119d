"""Valid calls of the bindings of cpp/bindings_glm.cpp."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CALLS"]

Arguments = dict[str, Any]


def function_of(low: float, high: float) -> Callable[[np.random.Generator], Arguments]:
    """Return what makes arguments of a function of numbers between two others."""

    def make(rng: np.random.Generator) -> Arguments:
        values = rng.uniform(low, high, rng.integers(0, 40))
        return {"values": values, "out": np.zeros(values.size)}

    return make


def draws(rng: np.random.Generator) -> Arguments:
    return {"rng": np.random.default_rng(rng.integers(99)), "out": np.zeros(rng.integers(0, 40))}


def draw_binomial(rng: np.random.Generator) -> Arguments:
    arguments = draws(rng)
    return {"rng": arguments["rng"], "trials": int(rng.integers(0, 99)), "out": arguments["out"]}


CALLS = {
    "draw_binomial": draw_binomial,
    "draw_normal": draws,
    "draw_uniform": draws,
    "exp": function_of(-800.0, 800.0),
    "expm1": function_of(-800.0, 800.0),
    "log": function_of(0.0, 1e9),
    "log1p": function_of(-1.0, 1e9),
    "log2": function_of(0.0, 1e9),
    "tanh": function_of(-30.0, 30.0),
}
