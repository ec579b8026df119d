"""Every estimate minimises lam |theta - W/lam|^2 + sum (x'theta - y - z)^2, also after a million ill-conditioned rounds."""

import math

import mpmath as mp
import numpy as np
import pytest

import ensample as es
from naive import textbook
from naive.stored import Recording


def relative_error(estimates: np.ndarray, truth: np.ndarray) -> float:
    return float(
        (np.linalg.norm(estimates - truth, axis=-1) / np.linalg.norm(truth, axis=-1)).max()
    )


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_estimates_minimise_the_perturbed_least_squares(lam: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) / 3
    reward, initial = Recording(0.5), Recording(0.5 * lam**0.5)
    recipe = es.EnsembleSampling(
        size=7, scale=0.5, regularization=lam, reward=reward, initial=initial
    )
    policy = recipe.start(es.FiniteArms(X), seed=1)
    arms = []
    for _ in range(400):
        decision = policy.decide()
        policy.update(decision, float(X[decision.arm].sum() + rng.standard_normal()))
        arms.append(decision.arm)
    W, Z, Y = initial.drawn[0], np.concatenate(reward.drawn)[:400], policy.log().reward
    rows = np.vstack([lam**0.5 * np.eye(6), X[arms]])
    for j, theta in enumerate(policy.estimates):
        targets = np.concatenate([W[j] / lam**0.5, Y + Z[:, j]])
        solution, *_ = np.linalg.lstsq(rows, targets, rcond=None)
        np.testing.assert_allclose(theta, solution, rtol=1e-8, atol=1e-10)
        gradient = rows.T @ (rows @ theta - targets)
        assert np.abs(gradient).max() < 1e-8 * np.abs(rows.T @ targets).max()


def exact_solution(
    X: np.ndarray, lam: float, arms: np.ndarray, start: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """V^-1 (W + sum X y) at 60 digits; the sums for each arm are rounded once."""
    with mp.workdps(60):
        features = [[mp.mpf(float(value)) for value in x] for x in X]
        pulls = np.bincount(arms, minlength=len(X))
        sums = [mp.mpf(math.fsum(targets[arms == k].tolist())) for k in range(len(X))]
        d = X.shape[1]
        V, b = mp.matrix(d, d), mp.matrix([mp.mpf(float(value)) for value in start])
        for i in range(d):
            b[i] += mp.fsum(x[i] * total for x, total in zip(features, sums, strict=True))
            for k in range(d):
                V[i, k] = mp.fsum(
                    int(n) * x[i] * x[k] for x, n in zip(features, pulls, strict=True)
                )
            V[i, i] += mp.mpf(lam)
        return np.array([float(value) for value in mp.lu_solve(V, b)])


@pytest.mark.long
@pytest.mark.parametrize("spread", [1e-3, 1e-9])
def test_a_million_nearly_collinear_rounds_do_not_drift(spread: float) -> None:
    """lam = 1e-3: condition number 1e9 for the smaller spread. Rank-one updates alone miss by more than 1e-8."""
    rng = np.random.default_rng(1)
    rounds, size, lam, dim = 1_000_000, 3, 1e-3, 5
    direction = rng.standard_normal(dim)
    X = direction / np.linalg.norm(direction) + spread * rng.standard_normal((8, dim))
    arms = rng.integers(0, len(X), rounds)
    Y = X[arms] @ rng.standard_normal(dim) + rng.standard_normal(rounds)
    reward, initial = Recording(1.0), Recording(lam**0.5)
    recipe = es.EnsembleSampling(
        size=size, scale=1.0, regularization=lam, reward=reward, initial=initial
    )
    policy = recipe.start(es.FiniteArms(X))
    policy.update_many(arms, Y)
    W, Z = initial.drawn[0], np.concatenate(reward.drawn)[:rounds]
    truth = np.array([exact_solution(X, lam, arms, W[j], Y + Z[:, j]) for j in range(size)])
    ridge = exact_solution(X, lam, arms, np.zeros(dim), Y)
    assert relative_error(policy.estimates, truth) < 1e-8
    assert relative_error(policy.mean, ridge) < 1e-8
    if spread == 1e-9:
        drifted = textbook.sherman_morrison(X, lam, arms, Y)
        assert relative_error(drifted, ridge) > 1e-8


@pytest.mark.parametrize(("lam", "length"), [(1e-12, 1.0), (1.0, 1e4), (1e-6, 1e3)])
def test_every_round_is_exact_however_ill_conditioned(lam: float, length: float) -> None:
    """New directions cancel digits of V^-1 and long features make V stiff: condition numbers up to 1e13."""
    rng = np.random.default_rng(2)
    X = length * rng.standard_normal((6, 6))
    X[4:] = X[:2] + 1e-3 * length * rng.standard_normal((2, 6))
    Y, arms = rng.standard_normal(40), np.append(np.arange(6), rng.integers(0, 6, 34))
    reward, initial = Recording(1.0), Recording(lam**0.5)
    recipe = es.EnsembleSampling(
        size=2, scale=1.0, regularization=lam, reward=reward, initial=initial
    )
    policy = recipe.start(es.FiniteArms(X))
    for n, k in enumerate(arms, 1):
        policy.update(int(k), Y[n - 1])
        assert (
            relative_error(policy.mean, exact_solution(X, lam, arms[:n], np.zeros(6), Y[:n])) < 1e-8
        )
        Z = np.concatenate(reward.drawn)[:n]
        truth = [
            exact_solution(X, lam, arms[:n], initial.drawn[0][j], Y[:n] + Z[:, j]) for j in range(2)
        ]
        assert relative_error(policy.estimates, np.array(truth)) < 1e-8
