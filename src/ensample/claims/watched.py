"""A run of the library's own ensemble sampling, watched: all members in all rounds."""

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.evidence import generator
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.randomness import RunStream
from ensample.simulation.threads import cores, on_threads
from ensample.types import FloatArray

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Round:
    """The state before a round, judged by the true parameter, and what the round then did: computed where it is asked for."""

    problem: LinearProblem
    best: FloatArray  # x* [d]
    estimates: FloatArray  # theta^j [m, d]
    mean: FloatArray  # theta_hat [d]
    root: FloatArray  # L, with V = LL' [d, d]
    arm: int

    @cached_property
    def arms(self) -> FiniteArms:
        assert isinstance(self.problem.arms, FiniteArms)
        return self.problem.arms

    @cached_property
    def theta_tilde(self) -> FloatArray:
        """theta^j - theta_hat: [m, d]."""
        return self.estimates - self.mean

    @cached_property
    def reach(self) -> FloatArray:
        """U'Z^j / |U|, how far member j reaches beyond the ridge estimate towards x*: [m]."""
        return (
            self.theta_tilde
            @ self.best
            / math.sqrt(float((np.linalg.solve(self.root, self.best) ** 2).sum()))
        )

    @cached_property
    def norms(self) -> FloatArray:
        """|theta~^j|_V: [m]."""
        return lengths(self.theta_tilde, self.root)

    @cached_property
    def errors(self) -> FloatArray:
        """|theta^j - theta*|_V: [m]."""
        return lengths(self.estimates - self.problem.theta, self.root)

    @property
    def ridge_error(self) -> float:
        """|theta_hat - theta*|_V."""
        return float(np.linalg.norm((self.mean - self.problem.theta) @ self.root))

    @cached_property
    def values(self) -> FloatArray:
        """x'theta^j of every arm: [m, K]."""
        return self.estimates @ self.arms.by_coordinate

    @property
    def promises(self) -> FloatArray:
        """max_x x'theta^j: [m]."""
        return np.asarray(self.values.max(axis=1))

    @cached_property
    def of_arms(self) -> FloatArray:
        """|x|_{V^-1} of every arm: [K]."""
        return np.asarray(
            np.sqrt((np.linalg.solve(self.root, self.arms.features.T) ** 2).sum(axis=0))
        )

    @cached_property
    def widths(self) -> FloatArray:
        """|x^j|_{V^-1} of the arm that member j likes best: [m]."""
        return np.asarray(self.of_arms[self.values.argmax(axis=1)])

    @property
    def width(self) -> float:
        """|X_t|_{V^-1} of the arm played."""
        return float(self.of_arms[self.arm])

    @property
    def regret(self) -> float:
        """Of this round."""
        return self.problem.best_mean() - self.problem.mean(self.arms.features[self.arm])


def watch(
    recipe: EnsembleSampling, problem: LinearProblem, rounds: int, seed: int, claim: str, part: int
) -> Iterator[Round]:
    """Play a live policy for some rounds, and tell of each."""
    best = problem.arms.best(problem.theta)[1]
    policy = recipe.start(problem.arms, int(generator(seed, claim, part).integers(1 << 62)))
    noise = generator(seed, claim, part, RunStream.NOISE)
    for _ in range(rounds):
        root = np.asarray(np.linalg.cholesky(policy.gram), np.float64)
        estimates, mean = policy.estimates, policy.mean
        decision = policy.decide()
        assert decision.arm is not None
        yield Round(problem, best, estimates, mean, root, decision.arm)
        policy.update(decision, problem.reward(decision.features, noise))


def lengths(rows: FloatArray, root: FloatArray) -> FloatArray:
    """|row|_V for V = LL'."""
    return np.asarray(np.sqrt(((rows @ root) ** 2).sum(axis=1)))


def replicates(replicate: Callable[[int], Answer], runs: int, first: int = 0) -> list[Answer]:
    """replicate(first), replicate(first + 1), ... on threads."""
    numbers = range(first, first + runs)
    with closing(
        on_threads(replicate, numbers, min(runs, cores()), np.zeros(1, np.int64))
    ) as finished:
        answers = dict(finished)
    return [answers[number] for number in numbers]
