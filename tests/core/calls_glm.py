"""Valid calls of the bindings of cpp/bindings_models.cpp."""

from typing import Any

import numpy as np

from ensample.models.ridge import new_ridge

Arguments = dict[str, Any]


def function(rng: np.random.Generator) -> Arguments:
    """Return arguments of a function that has values between 0 and 30."""
    values = rng.uniform(0.0, 30.0, rng.integers(0, 40))
    name = str(rng.choice(["exp", "expm1", "log", "log1p", "log2", "tanh"]))
    return {"name": name, "values": values, "out": np.zeros(values.size)}


def draws(rng: np.random.Generator) -> Arguments:
    return {"rng": np.random.default_rng(rng.integers(99)), "out": np.zeros(rng.integers(0, 40))}


def draw_binomial(rng: np.random.Generator) -> Arguments:
    arguments = draws(rng)
    return {"rng": arguments["rng"], "trials": int(rng.integers(0, 99)), "out": arguments["out"]}


def predictors(rng: np.random.Generator) -> Arguments:
    return {
        "link": int(rng.integers(-1, 1)),
        "predictors": 9.0 * rng.standard_normal(rng.integers(0, 40)),
    }


def implicit_step(rng: np.random.Generator) -> Arguments:
    u, q, y = 9.0 * rng.standard_normal(), rng.exponential(9.0), rng.random()
    return {
        "link": int(rng.integers(-1, 1)),
        "predictor": float(u),
        "leverage": float(q),
        "y": float(y),
    }


def predict(rng: np.random.Generator) -> Arguments:
    dim, rate = int(rng.integers(1, 7)), float(rng.choice([0.0, 0.01]))
    return {"state": new_ridge(dim, 1.0, rate), "x": rng.standard_normal(dim)}


def learn_rooted(rng: np.random.Generator) -> Arguments:
    state, x = predict(rng).values()
    rooted, link = [(None, 0), (0.5 * x, 0), (x.copy(), None)][rng.integers(3)]
    return {
        "state": state,
        "root": np.zeros((x.size, x.size)),
        "rooted": rooted,
        "x": x,
        "y": 1.0,
        "link": link,
    }


def seen(rng: np.random.Generator) -> Arguments:
    n, dim = rng.integers(0, 30), rng.integers(1, 7)
    counts = rng.integers(0, 9, n).astype(float)
    totals = counts * rng.random(n)
    loss = {"rows": rng.standard_normal((n, dim)), "counts": counts, "totals": totals}
    return loss | {"prior": 0.1 + rng.random(dim), "shift": rng.standard_normal(dim)}


def minimise(rng: np.random.Generator) -> Arguments:
    loss = seen(rng)
    return {"link": 0, **loss, "tolerance": 1e-9, "theta": np.zeros(loss["prior"].size)}


def newton_step(rng: np.random.Generator) -> Arguments:
    loss = seen(rng)
    (n, dim), means = loss["rows"].shape, rng.random(loss["counts"].size)
    return {
        **loss,
        "theta": np.zeros(dim),
        "means": means,
        "slopes": rng.random(n),
        "step": np.zeros(dim),
    }


def hessian(rng: np.random.Generator) -> Arguments:
    loss = seen(rng)
    return {
        "rows": loss["rows"],
        "counts": loss["counts"],
        "slopes": rng.random(loss["counts"].size),
        "prior": loss["prior"],
    }


CALLS = {
    "hessian": hessian,
    "implicit_step": implicit_step,
    "learn_rooted": learn_rooted,
    "link_means": predictors,
    "link_slopes": predictors,
    "minimise": minimise,
    "newton_step": newton_step,
    "predict": predict,
    "draw_binomial": draw_binomial,
    "draw_normal": draws,
    "draw_uniform": draws,
    "evaluate": function,
}
