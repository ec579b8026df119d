"""A million arms: a live policy's decision beside the matrix-vector product that scores all of them."""

from time import perf_counter

import numpy as np

from ensample.arms import ApproximateArms, FiniteArms
from ensample.bench.timing import Turn
from ensample.policies import EnsembleSampling, Policy

ARMS, DIM = 10**6, 32
MEMBERS = 100
ROUNDS = 20
LEARNED = 50  # rewards that the policy has seen


def many_arms() -> Policy:
    """A policy on Gaussian arms: many features that matter alike are the hardest for an index."""
    features = np.random.default_rng(0).standard_normal((ARMS, DIM))
    features.setflags(write=False)  # so that they are there once
    return learning(FiniteArms(features))


def approximate(policy: Policy) -> Policy:
    """The same on the same arms, by an index."""
    assert policy.arms.rows is not None
    return learning(ApproximateArms(policy.arms.rows))


def learning(arms: FiniteArms) -> Policy:
    """A policy that has begun to learn: its members agree on something."""
    rng = np.random.default_rng(1)
    policy = EnsembleSampling(MEMBERS).start(arms, seed=0)
    theta = rng.standard_normal(DIM)
    for arm in rng.integers(ARMS, size=LEARNED):
        policy.update(int(arm), float(arms.features[arm] @ theta + rng.standard_normal()))
    return policy


def deciding(policy: Policy) -> Turn:
    """Microseconds of a decision and of learning its reward."""

    def turn() -> float:
        start = perf_counter()
        for _ in range(ROUNDS):
            decision = policy.decide()
            policy.update(decision, float(decision.features[0]))
        return (perf_counter() - start) / ROUNDS * 1e6

    return turn


def product(policy: Policy) -> Turn:
    """Microseconds of numpy's own X @ theta, on as many threads as it takes."""
    rows = policy.arms.rows
    assert rows is not None
    theta = policy.mean

    def turn() -> float:
        start = perf_counter()
        for _ in range(ROUNDS // 4):
            rows @ theta
        return (perf_counter() - start) / (ROUNDS // 4) * 1e6

    return turn


def voting(policy: Policy) -> Turn:
    """Microseconds of the exact propensities of all arms, a member's vote each."""

    def turn() -> float:
        policy.update(0, 0.0)  # or else the votes would be known
        start = perf_counter()
        policy.propensities()
        return (perf_counter() - start) / MEMBERS * 1e6

    return turn
