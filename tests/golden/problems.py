"""What every family of problems draws, as numbers."""

from typing import Any

import numpy as np

import ensample as es
from ensample.problems import constants_of, families_by_name

LABELS = ["cat", "dog", "cat", "owl", "dog", "cat"]
RATINGS = [(user, item, 1 + (user * item) % 5) for user in range(6) for item in range(8)]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "classification": [{"data": np.arange(18.0).reshape(6, 3) % 5, "y": LABELS}],
    "kveton": [{"dim": 4, "arms": 6}],
    "logistic": [{"features": "uniform"}, {"features": "sphere", "dim": 3, "arms": 7}],
    "rescaled": [{"orders": 4.0, "unit": 10.0}, {"shift": 3.0, "dim": 4, "arms": 5}],
    "two-arms": [{"base": 1.0, "gap": 0.5}],
    "evill": [{"variance": "high"}, {"variance": "low"}],
    "wheel": [{"delta": 0.5}, {"delta": 0.5, "blocks": True}],
}
NOISES = (
    *(es.GaussianNoise(0.3), es.RademacherNoise(0.3), es.BernoulliNoise()),
    *(es.HeteroscedasticNoise(0.1, 1.0), es.StudentNoise(0.3)),
)


def families() -> dict[str, es.Family]:
    import polars

    table = polars.DataFrame(RATINGS, schema=["user", "item", "rating"], orient="row")
    options = OPTIONS | {"ratings": [{"data": table, "arms": 3, "factors": 2}]}
    return {
        f"{name} {n}": es.problem(name, **chosen)
        for name in sorted(families_by_name())
        for n, chosen in enumerate(options.get(name, [{}]))
    }


def record(family: es.Family) -> dict[str, Any]:
    """Return the constants of a family, and offers, means and rewards of two problems."""
    drawn = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        problem = family.draw(rng)
        drawn.append(
            {"repr": repr(problem), "rounds": [play(problem, t, rng) for t in (0, 1, 2500)]}
        )
    return {"constants": repr(constants_of(family, 100)), "drawn": drawn}


def play(problem: es.Problem, t: int, rng: np.random.Generator) -> list[float]:
    problem = problem.at(t)
    offered = problem.offer(rng)
    rows = problem.arms.rows if offered is None else offered
    if rows is None:  # the unit ball
        rows = np.eye(problem.arms.dim)
    rewards = [problem.reward(x, rng) for x in rows[:3]]
    return [float(rows.sum()), problem.mean(rows[-1]), problem.best_mean(offered), *rewards]


def noises() -> dict[str, list[float]]:
    means = np.array([0.1, 0.7])
    return {
        repr(noise): [
            noise.size,
            *noise.spreads(means).tolist(),
            *(noise.draw(0.7, 0.2, np.random.default_rng(seed)) for seed in range(4)),
        ]
        for noise in NOISES
    }


def found() -> dict[str, Any]:
    drawn = {name: record(family) for name, family in families().items()}
    return {"families": drawn, "noises": noises()}
