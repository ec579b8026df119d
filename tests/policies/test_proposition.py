"""LinPHE is ensemble sampling with m = T and member t in round t: arm for arm under the coupling."""

import numpy as np
import pytest

import ensample as es
from naive import textbook
from naive.stored import StoredColumns, StoredRows, StoredVectors

ROUNDS, DIM = 150, 3
LAWS = [
    es.Gaussian(2.0),
    es.Rademacher(2.0),
    es.Uniform(2.0),
    es.CenteredBinomial(trials=4, scale=2.0),
]


def arms_played(policy: es.Policy, rewards: np.ndarray) -> list[int]:
    """`rewards` [T, K] holds what each arm would pay in each round."""
    played = []
    for t in range(ROUNDS):
        decision = policy.decide()
        policy.update(decision, rewards[t, decision.arm])
        played.append(decision.arm)
    return played


def coupled_arms(
    law: es.Perturbation, seed: int, shift: int
) -> tuple[list[int], list[int], list[int]]:
    """Arms of ensemble sampling with m = T, of LinPHE and of LinPHE's definition, on the same perturbations."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, DIM)) / 2
    rewards = X @ rng.standard_normal(DIM) + rng.standard_normal((ROUNDS, 10))
    W, Z = law.draw_vectors(rng, ROUNDS, DIM), law.draw(rng, (ROUNDS, ROUNDS))
    theirs = np.roll(Z, shift, axis=0)
    ensemble = es.EnsembleSampling(
        ROUNDS, initial=StoredVectors(W), reward=StoredRows(Z), member=lambda t, m, rng: t
    )
    history = es.PerturbedHistory(initial=StoredVectors(W), reward=StoredColumns(theirs))
    own = arms_played(ensemble.start(es.FiniteArms(X)), rewards)
    # As features of its own rather than standing arms, LinPHE perturbs each reward by itself.
    policy = history.start(es.ChangingArms(DIM))
    phe = []
    for t in range(ROUNDS):
        decision = policy.decide(X)
        policy.update(decision, rewards[t, decision.arm])
        phe.append(decision.arm)
    definition = textbook.perturbed_history(X, 1.0, W, theirs.T, lambda t, k: rewards[t, k])
    return own, phe, definition


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_ensemble_sampling_with_t_members_is_linphe(law: es.Perturbation, seed: int) -> None:
    ensemble, phe, definition = coupled_arms(law, seed, shift=0)
    assert ensemble == phe == definition
    assert len(set(ensemble)) > 1


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_broken_coupling_is_another_run(law: es.Perturbation) -> None:
    """Negative control: perturbations shifted by one round."""
    ensemble, phe, definition = coupled_arms(law, seed=0, shift=1)
    assert phe == definition != ensemble


def test_round_robin_over_t_members_is_the_rule_t() -> None:
    X = np.random.default_rng(0).standard_normal((6, DIM))
    rewards = np.random.default_rng(1).standard_normal((ROUNDS, 6))
    runs = [
        arms_played(
            es.EnsembleSampling(ROUNDS, member=rule).start(es.FiniteArms(X), seed=4), rewards
        )
        for rule in (es.RoundRobin(), lambda t, m, rng: t)
    ]
    assert runs[0] == runs[1]
