"""Slow, obvious twins of the rivals, written straight from their definitions."""

from collections.abc import Callable

import numpy as np


def confidence_radius(
    form: str,
    V: np.ndarray,
    t: int,
    lam: float,
    noise: float,
    norm: float,
    delta: float,
    radius: float,
) -> float:
    """beta_t of LinUCB."""
    d = len(V)
    if form == "constant":
        return radius
    information = (
        d * np.log(1 + t / (d * lam))
        if form == "closed"
        else np.linalg.slogdet(V)[1] - d * np.log(lam)
    )
    return noise * np.sqrt(information + 2 * np.log(1 / delta)) + np.sqrt(lam) * norm


def linucb(
    X: np.ndarray,  # [K, d]
    lam: float,
    beta: Callable[[np.ndarray, int, float], float],  # (V, t, largest |theta_hat| so far) -> beta_t
    reward: Callable[[int, int], float],  # (round, arm) -> Y
    rounds: int,
) -> tuple[list[int], np.ndarray]:
    """(arms played, optimistic parameters [rounds, d])."""
    V, b = lam * np.eye(X.shape[1]), np.zeros(X.shape[1])
    arms, promises, largest = [], [], 0.0
    for t in range(rounds):
        theta = np.linalg.solve(V, b)
        largest = max(largest, np.linalg.norm(theta))
        widths = np.array([np.sqrt(x @ np.linalg.solve(V, x)) for x in X])
        radius = beta(V, t, largest)
        k = int(np.argmax(X @ theta + radius * widths))
        promises.append(theta + radius * np.linalg.solve(V, X[k]) / widths[k])
        V += np.outer(X[k], X[k])
        b += reward(t, k) * X[k]
        arms.append(k)
    return arms, np.array(promises)


def greedy(
    X: np.ndarray, lam: float, reward: Callable[[int, int], float], rounds: int
) -> list[int]:
    """LinUCB without optimism."""
    return linucb(X, lam, lambda V, t, largest: 0.0, reward, rounds)[0]


def longest_on_the_ball(theta: np.ndarray, V: np.ndarray, beta: float, starts: int) -> float:
    """max_{|x| <= 1} x'theta + beta |x|_{V^-1}, by climbing from many points.

    X <- the direction of the gradient.
    """
    inverse = np.linalg.inv(V)
    x = np.random.default_rng(0).standard_normal((starts, len(theta)))
    for _ in range(3000):
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        widths = np.sqrt(np.einsum("ni,ij,nj->n", x, inverse, x))
        values = x @ theta + beta * widths
        x = theta + beta * (x @ inverse) / widths[:, None]
    return float(values.max())


def sup_linucb(
    X: np.ndarray,
    T: int,
    lam: float,
    radius: float,
    reward: Callable[[int, int], float],
    rounds: int,
) -> list[int]:
    """Chu et al. 2011, Algorithms 2 and 3: (arms played).

    Psi[s] has the rounds that stage s learned from.
    """
    stages = max(1, int(np.ceil(np.log(T))))
    Psi: list[list[int]] = [[] for _ in range(stages + 1)]
    arms: list[int] = []
    ys: list[float] = []
    for t in range(rounds):
        s, left, chosen = 1, list(range(len(X))), None
        while chosen is None:
            seen = X[[arms[i] for i in Psi[s]]]
            V = lam * np.eye(X.shape[1]) + seen.T @ seen
            theta = np.linalg.solve(V, seen.T @ np.array([ys[i] for i in Psi[s]]))
            w = {k: radius * np.sqrt(X[k] @ np.linalg.solve(V, X[k])) for k in left}
            ucb = {k: X[k] @ theta + w[k] for k in left}
            if max(w.values()) <= 1 / np.sqrt(T):
                chosen = max(left, key=lambda k: ucb[k])
            elif max(w.values()) <= 2.0**-s:
                left = [k for k in left if ucb[k] >= max(ucb.values()) - 2.0 ** (1 - s)]
                s += 1
            else:
                chosen = max(left, key=lambda k: w[k])
                Psi[s].append(t)
        arms.append(chosen)
        ys.append(reward(t, chosen))
    return arms
