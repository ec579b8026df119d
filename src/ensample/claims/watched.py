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
    """The state before a round, judged by the true parameter."""

    reach: FloatArray  # U'Z^j / |U|, how far member j reaches beyond the ridge estimate towards x* [m]
    norms: FloatArray  # |theta~^j|_V [m]
    ridge_error: float  # |theta_hat - theta*|_V
    promise: float  # max_j max_x x'theta^j
    regret: float  # so far


def watch(recipe: EnsembleSampling, problem: LinearProblem, rounds: int, seed: int, claim: str, part: int) -> Iterator[Round]:
    """Play a live policy for some rounds; each round is looked at before its arm is chosen."""
    assert isinstance(problem.arms, FiniteArms)
    best = problem.arms.best(problem.theta)[1]
    policy = recipe.start(problem.arms, int(generator(seed, claim, part).integers(1 << 62)))
    noise = generator(seed, claim, part, RunStream.NOISE)
    regret = 0.0
    for t in range(rounds):
        root = np.linalg.cholesky(policy.gram)  # V = LL'
        estimates, mean = policy.estimates, policy.mean
        width = math.sqrt(float((np.linalg.solve(root, best) ** 2).sum()))
        theta_tilde = estimates - mean
        yield Round(
            reach=theta_tilde @ best / width,
            norms=np.sqrt(((theta_tilde @ root) ** 2).sum(axis=1)),
            ridge_error=float(np.linalg.norm((mean - problem.theta) @ root)),
            promise=float((estimates @ problem.arms.by_coordinate).max()),
            regret=regret,
        )
        if t + 1 < rounds:
            decision = policy.decide()
            policy.update(decision, problem.reward(decision.features, noise))
            regret += problem.best_mean() - problem.mean(decision.features)


def replicates(replicate: Callable[[int], Answer], runs: int, first: int = 0) -> list[Answer]:
    """replicate(first), replicate(first + 1), ... on all cores."""
    with ThreadPoolExecutor(min(runs, os.cpu_count() or 1)) as pool:
        return list(pool.map(replicate, range(first, first + runs)))
