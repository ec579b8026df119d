"""A run of the library's own ensemble sampling, watched: all members in all rounds."""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.evidence import generator
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.randomness import RunStream
from ensample.types import FloatArray

__all__ = ["Round", "replicates", "watch"]

Answer = TypeVar("Answer")


class Round(NamedTuple):
    """The state before a round, judged by the true parameter, and what the round then did."""

    reach: FloatArray  # U'Z^j / |U|, how far member j reaches beyond the ridge estimate towards x* [m]
    norms: FloatArray  # |theta~^j|_V [m]
    errors: FloatArray  # |theta^j - theta*|_V [m]
    ridge_error: float  # |theta_hat - theta*|_V
    promises: FloatArray  # max_x x'theta^j [m]
    widths: FloatArray  # |x^j|_{V^-1} of the arm that member j likes best [m]
    width: float  # |X_t|_{V^-1} of the arm played
    regret: float  # of this round


def watch(recipe: EnsembleSampling, problem: LinearProblem, rounds: int, seed: int, claim: str, part: int) -> Iterator[Round]:
    """Play a live policy for some rounds, and tell of each."""
    assert isinstance(problem.arms, FiniteArms)
    arms, best = problem.arms.features, problem.arms.best(problem.theta)[1]
    policy = recipe.start(problem.arms, int(generator(seed, claim, part).integers(1 << 62)))
    noise = generator(seed, claim, part, RunStream.NOISE)
    for _ in range(rounds):
        root = np.asarray(np.linalg.cholesky(policy.gram), np.float64)  # V = LL'
        estimates, mean = policy.estimates, policy.mean
        of_arms = np.sqrt((np.linalg.solve(root, arms.T) ** 2).sum(axis=0))
        width = math.sqrt(float((np.linalg.solve(root, best) ** 2).sum()))
        theta_tilde, values = estimates - mean, estimates @ problem.arms.by_coordinate
        decision = policy.decide()
        yield Round(
            reach=theta_tilde @ best / width,
            norms=lengths(theta_tilde, root),
            errors=lengths(estimates - problem.theta, root),
            ridge_error=float(np.linalg.norm((mean - problem.theta) @ root)),
            promises=values.max(axis=1),
            widths=of_arms[values.argmax(axis=1)],
            width=float(of_arms[decision.arm]),
            regret=problem.best_mean() - problem.mean(decision.features),
        )
        policy.update(decision, problem.reward(decision.features, noise))


def lengths(rows: FloatArray, root: FloatArray) -> FloatArray:
    """|row|_V for V = LL'."""
    return np.asarray(np.sqrt(((rows @ root) ** 2).sum(axis=1)))


def replicates(replicate: Callable[[int], Answer], runs: int, first: int = 0) -> list[Answer]:
    """replicate(first), replicate(first + 1), ... on all cores."""
    with ThreadPoolExecutor(min(runs, os.cpu_count() or 1)) as pool:
        return list(pool.map(replicate, range(first, first + runs)))
