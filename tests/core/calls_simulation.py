"""Valid calls of cpp/bindings_simulation.cpp."""

from typing import Any

import numpy as np

import ensample as es
from ensample.calibration import Unknown
from ensample.inflation import Inflation
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.options import Law
from ensample.simulation.state import Rngs, RunSize, RunState, new_state

KERNELS = [
    "eager_ensemble",
    "ensemble_plus_plus",
    "epsilon_greedy",
    "fresh_stream",
    "gaussian_history",
    "informed_by_fresh_members",
    "informed_ensemble",
    "kveton_phe",
    "lazy_ensemble",
    "lazy_stream",
    "linucb",
    "multiplier_bootstrap",
    "newton_rounds",
    "summed_history",
    "sup_linucb",
]
CONTEXTUAL_KERNELS = [
    "eager_moving",
    "fresh_moving_stream",
    "lazy_moving",
    "lazy_moving_stream",
    "moving_history",
]
LOGISTIC = [
    "fresh_moving_stream",
    "fresh_stream",
    "lazy_moving_stream",
    "lazy_stream",
    "newton_rounds",
]


def finite_problem(rng: np.random.Generator, dim: int, arms: int) -> FiniteProblem:
    features = rng.standard_normal((arms, dim))
    problem = es.LinearProblem(
        es.FiniteArms(features), rng.standard_normal(dim), 0.3, warmup=[0, 0], opening=[arms - 1]
    )
    arrays = problem.place()
    assert isinstance(arrays, FiniteProblem)
    return arrays


def begun(rng: np.random.Generator, problem: Any, dim: int, rounds: int) -> RunState:
    unknown = Unknown(None, 0.0) if rng.random() < 0.5 else None
    return new_state(
        RunSize.of(problem, dim), 1.0, np.array([1, rounds]), np.zeros(1, np.int64), unknown
    )


def contextual_problem(rng: np.random.Generator, dim: int, kernel: str) -> ContextualProblem:
    logistic = kernel in LOGISTIC
    noise, link = (1, 0) if logistic else (0, -1)
    return ContextualProblem(
        rng.standard_normal(dim), int(rng.integers(0, 9)), noise, 0.1, 0.4, link, logistic
    )


def options(rng: np.random.Generator, kernel: str, arms: int) -> dict[str, Any]:
    law = Law(int(rng.integers(3)), int(rng.integers(1, 4)), 0.5)
    return {
        "size": int(rng.integers(1, 100)),
        "rule": int(rng.integers(2)),
        "stay": int(rng.integers(1, 4)),
        "initial": law,
        "reward": law,
        "factor": Inflation(1.0, learned=bool(rng.integers(2))),
        "symmetric": bool(rng.integers(2)),
        "epsilon": 0.1,
        "radius": 0.5,
        "floor": 0.1,
        "stages": int(rng.integers(1, 9)),
        "spread": 0.5,
        "scale": 0.5,
        "ageing": float(rng.choice([0.0, 0.3])),
        "adaptive": bool(rng.integers(2)),
        "watch_norm": bool(rng.integers(2)),
        "link": 0 if kernel in LOGISTIC else -1,
        "kind": int(rng.integers(7)),
        "from_base": bool(rng.integers(2)),
        "basis": rng.permutation(arms)[: int(rng.integers(0, 4))],
    }


def simulate(rng: np.random.Generator) -> dict[str, Any]:
    dim, arms = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    kernel = str(rng.choice([*KERNELS, *CONTEXTUAL_KERNELS]))
    problem: FiniteProblem | ContextualProblem
    if kernel in CONTEXTUAL_KERNELS:
        arms, problem = 0, contextual_problem(rng, dim, kernel)
    else:
        problem = finite_problem(rng, dim, arms)
        if kernel in LOGISTIC:
            problem = problem._replace(noise=1, means=rng.random(len(problem.means)))
    return {
        "kernel": kernel,
        "problem": problem,
        "state": begun(rng, problem, dim, int(rng.integers(2, 60))),
        "rngs": Rngs(*(np.random.default_rng(int(seed)) for seed in rng.integers(1 << 30, size=4))),
        "options": options(rng, kernel, arms),
    }


CALLS = {"simulate": simulate}
