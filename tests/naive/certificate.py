"""Slow, obvious twins of a policy's certificate.

Each round's bound from the log, with dense algebra.
"""

import numpy as np


def gram(X: np.ndarray, lam: float) -> np.ndarray:
    return lam * np.eye(X.shape[1]) + X.T @ X


def length(x: np.ndarray, V: np.ndarray) -> float:
    return float(np.sqrt(x @ np.linalg.solve(V, x)))


def information(V: np.ndarray, lam: float) -> float:
    return float(np.linalg.slogdet(V / lam)[1])


def ridge_radius(s, L: float) -> float:
    return s.noise * np.sqrt(L + 2 * np.log(1 / s.delta)) + np.sqrt(s.regularization) * s.norm


def closed_radius(s, t: int) -> float:
    return ridge_radius(s, s.dim * np.log(1 + t / (s.dim * s.regularization)))


def member_radius(s, L: float, n: int) -> float:
    """b + g(n) of Gaussian members."""
    tail = np.log(2 * n / s.delta)
    return ridge_radius(s, L) + closed_radius(s, s.horizon) * (
        np.sqrt(L + 2 * tail) + np.sqrt(s.dim) + np.sqrt(2 * tail)
    )


def linucb(s, played: np.ndarray) -> list[float]:
    terms = []
    for t, x in enumerate(played):
        V = gram(played[:t], s.regularization)
        L = information(V, s.regularization)
        terms.append((closed_radius(s, t) + ridge_radius(s, L)) * length(x, V))
    return terms


def optimistic(s, played: np.ndarray, m: int) -> list[float]:
    terms = []
    for t, x in enumerate(played):
        V = gram(played[:t], s.regularization)
        terms.append(member_radius(s, information(V, s.regularization), m) * length(x, V))
    return terms


def uniform(
    s, played, rewards, W: np.ndarray, Z: np.ndarray, arms: np.ndarray, share: float
) -> list[float]:
    """W is [m, d], Z is [T, m]."""
    terms = []
    for t, x in enumerate(played):
        X = played[:t]
        V = gram(X, s.regularization)
        c = member_radius(s, information(V, s.regularization), s.horizon)
        thetas = [np.linalg.solve(V, W[j] + X.T @ (rewards[:t] + Z[:t, j])) for j in range(len(W))]
        greedy = [arms[np.argmax(arms @ theta)] for theta in thetas]
        terms.append(c * length(x, V) + 2 * c / share * np.mean([length(y, V) for y in greedy]))
    return terms
