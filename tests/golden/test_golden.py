"""Policies against the textbook, both fed with the noise stored in noise.npz."""

from pathlib import Path

import numpy as np
import pytest

import ensample as es
from naive import textbook
from naive.stored import StoredRows, StoredVectors

NOISE = np.load(Path(__file__).parent / "noise.npz")
LAWS = {  # reward law: initial laws tried with it
    "gaussian": ("gaussian", "sphere"),
    "rademacher": ("rademacher",),
    "uniform": ("uniform",),
    "binomial": ("binomial",),
}
RULES = ("stored", "uniform", "round robin", "optimistic")
SCALE, LAM = 0.4, 0.7


@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("reward", "initial"), [(reward, initial) for reward in LAWS for initial in LAWS[reward]]
)
def test_policy_is_the_textbook(reward: str, initial: str, rule: str, dim: int) -> None:
    X, theta, eta, j = (
        NOISE[f"X_{dim}"],
        NOISE[f"theta_{dim}"],
        NOISE["eta"].astype(float),
        NOISE["j"],
    )
    Z = SCALE * NOISE[f"Z_{reward}"].astype(float)
    W = LAM**0.5 * SCALE * NOISE[f"W_{initial}_{dim}"]
    rounds, size = Z.shape
    member = {
        "stored": lambda t, m, rng: int(j[t]),
        "uniform": es.UniformMember(),
        "round robin": es.RoundRobin(),
        "optimistic": es.OptimisticMember(),
    }[rule]
    recipe = es.EnsembleSampling(size, SCALE, LAM, StoredVectors(W), StoredRows(Z), member)
    policy = recipe.start(es.FiniteArms(X), seed=3)

    def reward_of(t: int, k: int) -> float:
        return float(X[k] @ theta + eta[t])

    arms, members, estimates = [], [], [policy.estimates]
    for t in range(rounds):
        decision = policy.decide()
        policy.update(decision, reward_of(t, decision.arm))
        arms.append(decision.arm)
        members.append(decision.member)
        estimates.append(policy.estimates)

    chosen = {
        "stored": lambda t, thetas: int(j[t]),
        "uniform": lambda t, thetas: members[t],
        "round robin": lambda t, thetas: t % size,
        "optimistic": lambda t, thetas: most_promising(X, thetas, members[t]),
    }[rule]
    expected_arms, expected = textbook.ensemble_sampling(X, LAM, W, Z, reward_of, chosen)
    assert arms == expected_arms
    assert members == [chosen(t, expected[t]) for t in range(rounds)]
    assert np.abs(np.array(estimates) - expected).max() < 1e-9


def most_promising(X: np.ndarray, thetas: np.ndarray, chosen: int) -> int:
    """The optimistic member; discrete laws make equal members, among which rounding may decide."""
    promises = (X @ thetas.T).max(axis=0)
    return chosen if promises.max() - promises[chosen] < 1e-9 else int(np.argmax(promises))


def test_the_comparison_can_fail() -> None:
    """Negative control: one perturbation off by 1e-6 in round 1,000 is seen."""
    X, j, W = NOISE["X_3"], NOISE["j"], NOISE["W_gaussian_3"]
    Z = NOISE["Z_gaussian"].astype(float)
    wrong = Z.copy()
    wrong[1000, 2] += 1e-6
    recipe = es.EnsembleSampling(
        8, initial=StoredVectors(W), reward=StoredRows(wrong), member=lambda t, m, rng: int(j[t])
    )
    policy = recipe.start(es.FiniteArms(X))
    for _ in range(1001):
        policy.update(policy.decide(), 0.0)
    _, expected = textbook.ensemble_sampling(
        X, 1.0, W, Z[:1001], lambda t, k: 0.0, lambda t, _: int(j[t])
    )
    error = np.abs(policy.estimates - expected[-1]).max(axis=1)
    assert error[2] > 1e-9
    assert np.delete(error, 2).max() < 1e-9
