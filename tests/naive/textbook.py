"""Slow, obvious twins of the algorithms, written straight from the paper."""

from collections.abc import Callable

import numpy as np


def ensemble_sampling(
    X: np.ndarray,  # [K, d]
    lam: float,
    W: np.ndarray,  # [m, d]
    Z: np.ndarray,  # [T, m]
    reward: Callable[[int, int], float],  # (round, arm) -> Y
    member: Callable[[int, np.ndarray], int],  # (round, estimates) -> j
) -> tuple[list[int], np.ndarray]:
    """Algorithm 1: (arms played, estimates [T + 1, m, d])."""
    V, S, arms = lam * np.eye(X.shape[1]), W.copy(), []
    estimates = [np.linalg.solve(V, S.T).T]
    for t in range(len(Z)):
        j = member(t, estimates[-1])
        k = int(np.argmax(X @ estimates[-1][j]))
        V += np.outer(X[k], X[k])
        S += np.outer(reward(t, k) + Z[t], X[k])
        estimates.append(np.linalg.solve(V, S.T).T)
        arms.append(k)
    return arms, np.array(estimates)


def perturbed_history(
    X: np.ndarray,  # [K, d]
    lam: float,
    W: np.ndarray,  # [T, d]
    Z: np.ndarray,  # [T, T]: Z[t, i] perturbs reward i in round t
    reward: Callable[[int, int], float],
) -> list[int]:
    """Algorithm 2: the arms played."""
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(len(Z)):
        played = X[arms]
        V = lam * np.eye(X.shape[1]) + played.T @ played
        theta = np.linalg.solve(V, W[t] + played.T @ (np.array(rewards) + Z[t, :t]))
        arms.append(int(np.argmax(X @ theta)))
        rewards.append(reward(t, arms[-1]))
    return arms


def votes(X: np.ndarray, estimates: np.ndarray) -> list[int]:
    """Each member's greedy arm, adding coordinate after coordinate, the first of equal scores."""
    chosen = []
    for theta in estimates:
        best, best_score = 0, -np.inf
        for k, x in enumerate(X):
            score = 0.0
            for i in range(len(x)):
                score += x[i] * theta[i]
            if score > best_score:
                best, best_score = k, score
        chosen.append(best)
    return chosen


def sherman_morrison(
    X: np.ndarray, lam: float, arms: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """The ridge estimate from `targets` [T] by rank-one updates in doubles, never recomputed.

    [d].
    """
    d = X.shape[1]
    inverse, theta = np.eye(d) / lam, np.zeros(d)
    for arm, y in zip(arms, targets, strict=True):
        x = X[arm]
        u = inverse @ x
        gain = u / (1.0 + x @ u)
        theta += gain * (y - x @ theta)
        inverse -= np.outer(gain, u)
    return theta
