"""Runs of the library's own ensemble sampling with all that the analysis speaks of.

`record` keeps the whole history of one run; `watch` yields the state round by round.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.evidence import generator
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.problems.problem import unit_rows
from ensample.randomness import RunStream
from ensample.simulation.threads import cores, on_threads
from ensample.types import FloatArray, IntArray, Shape

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Recording(Gaussian):
    """Gaussian draws that can be read afterwards."""

    kept: list[FloatArray] = field(default_factory=list, repr=False)

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        self.kept.append(super().draw(rng, shape))
        return self.kept[-1]


@dataclass(frozen=True, eq=False)
class History:
    """T rounds of m members in dimension d. Entry t of the last three is the state after t."""

    lam: float
    arms: FloatArray  # [K, d]
    theta: FloatArray  # theta*, [d]
    best: FloatArray  # x*, [d]
    W: FloatArray  # [m, d]
    Z: FloatArray  # [T, m]
    X: FloatArray  # arms played [T, d]
    Y: FloatArray  # [T]
    members: IntArray  # j_t, [T]
    V: FloatArray  # [T + 1, d, d]
    theta_hat: FloatArray  # [T + 1, d]
    estimates: FloatArray  # theta^j, [T + 1, m, d]

    @property
    def theta_tilde(self) -> FloatArray:
        """theta~^j = theta^j - theta_hat: [T + 1, m, d]."""
        return np.asarray(self.estimates - self.theta_hat[:, None])

    def phi(self, t: int) -> FloatArray:
        """(sqrt(lam) I, X_1, ..., X_t): [d, d + t]."""
        return np.hstack([math.sqrt(self.lam) * np.eye(self.theta.size), self.X[:t].T])

    def perturbation(self, t: int) -> FloatArray:
        """(W^j / sqrt(lam), Z_1^j, ..., Z_t^j) of every member, as columns: [d + t, m]."""
        return np.vstack([self.W.T / math.sqrt(self.lam), self.Z[:t]])


def record(
    seed: int,
    claim: str,
    part: int = 0,
    *,
    rounds: int = 150,
    size: int = 10,
    lam: float = 1.0,
    scale: float = 0.5,
    noise: float = 0.5,
) -> History:
    """Run Algorithm 1 on 12 unit arms in 4 dimensions, with Gaussian laws and noise."""
    dim, arms = 4, 12
    problem = generator(seed, claim, part, RunStream.PROBLEM)
    eta = noise * generator(seed, claim, part, RunStream.NOISE).standard_normal(rounds)
    features, theta = unit_rows(problem, arms, dim), unit_rows(problem, 1, dim)[0]
    initial, reward = Recording(math.sqrt(lam) * scale), Recording(scale)
    recipe = EnsembleSampling(size, scale, lam, initial, reward)
    policy = recipe.start(FiniteArms(features), int(generator(seed, claim, part).integers(1 << 62)))
    V, means, estimates = [policy.gram], [policy.mean], [policy.estimates]
    X, Y, members = [], [], []
    for t in range(rounds):
        decision = policy.decide()
        reward_seen = float(decision.features @ theta) + eta[t]
        policy.update(decision, reward_seen)
        X.append(decision.features)
        Y.append(reward_seen)
        members.append(decision.member)
        V.append(policy.gram)
        means.append(policy.mean)
        estimates.append(policy.estimates)
    return History(
        lam=lam,
        arms=features,
        theta=theta,
        best=features[np.argmax(features @ theta)],
        W=initial.kept[0],
        Z=np.concatenate(reward.kept)[:rounds],
        X=np.array(X),
        Y=np.array(Y),
        members=np.array(members, np.int64),
        V=np.array(V),
        theta_hat=np.array(means),
        estimates=np.array(estimates),
    )


def relative_error(values: FloatArray, truth: FloatArray) -> float:
    """Return the largest error of any entry against the largest entry."""
    return float(np.abs(values - truth).max() / np.abs(truth).max())


@dataclass(frozen=True, eq=False)
class Round:
    """The state before a round, compared with the true parameter, and the arm that was played."""

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
        width = math.sqrt(float((np.linalg.solve(self.root, self.best) ** 2).sum()))
        return self.theta_tilde @ self.best / width

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
    def widths_of_arms(self) -> FloatArray:
        """|x|_{V^-1} of every arm: [K]."""
        whitened = np.linalg.solve(self.root, self.arms.features.T)
        return np.asarray(np.sqrt((whitened**2).sum(axis=0)))

    @cached_property
    def widths(self) -> FloatArray:
        """|x^j|_{V^-1} of the arm that member j likes best: [m]."""
        return np.asarray(self.widths_of_arms[self.values.argmax(axis=1)])

    @property
    def width(self) -> float:
        """|X_t|_{V^-1} of the arm played."""
        return float(self.widths_of_arms[self.arm])

    @property
    def regret(self) -> float:
        return self.problem.best_mean() - self.problem.mean(self.arms.features[self.arm])


def watch(
    recipe: EnsembleSampling, problem: LinearProblem, rounds: int, seed: int, claim: str, part: int
) -> Iterator[Round]:
    """Play a live policy and yield each round."""
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
    """Return replicate(first), replicate(first + 1), ..., computed on threads."""
    numbers = range(first, first + runs)
    stop = np.zeros(1, np.int64)
    with closing(on_threads(replicate, numbers, min(runs, cores()), stop)) as finished:
        answers = dict(finished)
    return [answers[number] for number in numbers]
