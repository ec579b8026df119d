"""A run of the library's own ensemble sampling with everything kept that the analysis speaks of."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.evidence import generator
from ensample.members import UNIFORM_MEMBER, MemberRule
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.problems.families import unit_rows
from ensample.randomness import RunStream
from ensample.types import FloatArray, IntArray, Shape


@dataclass(frozen=True)
class Recording(Gaussian):
    """Gaussian draws that can be read afterwards."""

    kept: list[FloatArray] = field(default_factory=list, repr=False)

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        self.kept.append(super().draw(rng, shape))
        return self.kept[-1]


@dataclass(frozen=True, eq=False)
class History:
    """T rounds of m members in dimension d. Entry t of the last four is the state after t rounds."""

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
    dim: int = 4,
    arms: int = 12,
    rounds: int = 150,
    size: int = 10,
    lam: float = 1.0,
    scale: float = 0.5,
    noise: float = 0.5,
    member: MemberRule = UNIFORM_MEMBER,
) -> History:
    """Algorithm 1 on unit arms in random directions, with Gaussian laws and noise."""
    problem = generator(seed, claim, part, RunStream.PROBLEM)
    eta = noise * generator(seed, claim, part, RunStream.NOISE).standard_normal(rounds)
    features, theta = unit_rows(problem, arms, dim), unit_rows(problem, 1, dim)[0]
    initial, reward = Recording(math.sqrt(lam) * scale), Recording(scale)
    recipe = EnsembleSampling(size, scale, lam, initial, reward, member)
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
    """The largest error of any entry against the largest entry."""
    return float(np.abs(values - truth).max() / np.abs(truth).max())
