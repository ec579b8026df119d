"""A policy by itself, its propensities, a snapshot and a simulation.

Run it: `python examples/policies.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

import ensample as es


def learned(arms: es.FiniteArms, rounds: int) -> es.Policy:
    """A policy after some rounds of a problem whose first feature pays."""
    policy = es.EnsembleSampling(size=30).start(arms, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        decision = policy.decide(propensity=True)
        assert decision.propensity is not None and decision.propensity > 0.0
        policy.update(decision, reward=decision.features[0] + 0.1 * rng.standard_normal())
    return policy


def again(policy: es.Policy) -> es.Policy:
    """The same policy from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.snapshot"
        policy.save(path)
        return es.load(path)


def regret() -> float:
    """The mean regret of a few simulated runs."""
    runs: es.Runs = es.simulate(
        es.EnsembleSampling(), es.problem("sphere", dim=3, arms=5), horizon=100, runs=4
    )
    return float(runs.summary()["mean"])


def main() -> tuple[int, float]:
    """The arm that the policy likes best, and the regret of others like it."""
    arms = es.FiniteArms(np.random.default_rng(0).standard_normal((20, 3)))
    policy = again(learned(arms, 100))
    shares = policy.propensities()
    sampled: es.SampledPropensities = policy.sampled_propensities(members=10)
    assert np.all(sampled.errors >= 0.0) and np.isclose(shares.sum(), 1.0)
    return int(shares.argmax()), regret()


if __name__ == "__main__":
    print(main())
