"""Slow, obvious twins of ensemble sampling's relatives, written straight from their rules.

X is [K, d] throughout.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

Reward = Callable[[int, int], float]  # (round, arm) -> Y


def ridge(
    X: np.ndarray, lam: float, arms: list[int], rewards: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """V and theta_hat."""
    played = X[arms]
    V = lam * np.eye(X.shape[1]) + played.T @ played
    return V, np.linalg.solve(V, played.T @ np.array(rewards))


def perturbation(
    X: np.ndarray, arms: list[int], W: np.ndarray, Z: np.ndarray, j: int
) -> np.ndarray:
    """S^j = W^j + sum_i X_i Z_i^j."""
    return W[j] + X[arms].T @ Z[: len(arms), j]


def symmetrized(X, lam, W, Z, member: Callable[[int], int], reward: Reward) -> list[int]:
    """Janz et al. 2024: signed model i is member i with a plus or member i - m with a minus."""
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(len(Z)):
        V, theta_hat = ridge(X, lam, arms, rewards)
        sign, j = (1, member(t)) if member(t) < len(W) else (-1, member(t) - len(W))
        theta = theta_hat + sign * np.linalg.solve(V, perturbation(X, arms, W, Z, j))
        arms.append(int(np.argmax(X @ theta)))
        rewards.append(reward(t, arms[-1]))
    return arms


def sharp(
    X, lam, W, Z, member: Callable[[int], int], reward: Reward, gamma, noise, norm, delta
) -> list[int]:
    """Janz, Akhavan & Szepesvari 2026."""
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(len(Z)):
        V, theta_hat = ridge(X, lam, arms, rewards)
        growth = np.linalg.slogdet(V)[1] - X.shape[1] * np.log(lam)
        beta = noise * np.sqrt(growth + 2 * np.log(1 / delta)) + np.sqrt(lam) * norm
        theta = theta_hat + gamma * beta * np.linalg.solve(
            V, perturbation(X, arms, W, Z, member(t))
        )
        arms.append(int(np.argmax(X @ theta)))
        rewards.append(reward(t, arms[-1]))
    return arms


def refreshed(
    X,
    lam,
    growth,
    fresh: Callable[[int], tuple[np.ndarray, np.ndarray]],
    Z,
    member: Callable[[int], int],
    reward: Reward,
) -> tuple[list[int], int]:
    """Hwang & Oh 2026: fresh(e) gives (W, g) of refresh e, [m, d] each.

    Returns the arms and the number of refreshes.
    """
    arms: list[int] = []
    rewards: list[float] = []
    S = fresh(0)[0]
    last, refreshes = np.linalg.slogdet(lam * np.eye(X.shape[1]))[1], 0
    for t in range(len(Z)):
        V, theta_hat = ridge(X, lam, arms, rewards)
        arms.append(int(np.argmax(X @ (theta_hat + np.linalg.solve(V, S[member(t)])))))
        rewards.append(reward(t, arms[-1]))
        S = S + np.outer(Z[t], X[arms[-1]])
        now = np.linalg.slogdet(ridge(X, lam, arms, rewards)[0])[1]
        if now >= last + np.log(growth) - 1e-9:
            last, refreshes = now, refreshes + 1
            W, g = fresh(refreshes)
            R = np.linalg.qr(X[arms], mode="r")
            R *= np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
            S = W + g[:, : len(R)] @ R
    return arms, refreshes


def kveton(
    X,
    lam,
    a,
    heads: Callable[[int, np.ndarray], np.ndarray],
    basis: list[int],
    rounds: int,
    reward: Reward,
) -> list[int]:
    """Kveton et al. 2020: heads(t, n) are Binomial(n_k, 1/2).

    Regression on rewards and pseudo-rewards together.
    """
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(rounds):
        waiting = [k for k in basis if k not in arms]
        counts = np.bincount(arms, minlength=len(X)) if arms else np.zeros(len(X), int)
        mixed = np.array([int(np.ceil(a * n)) for n in counts])
        U = heads(t, mixed)
        G = (a + 1) * lam * np.eye(X.shape[1]) + X.T @ np.diag(counts + mixed) @ X
        theta = np.linalg.solve(G, X[arms].T @ np.array(rewards) + X.T @ U)
        arms.append(waiting[t % len(waiting)] if waiting else int(np.argmax(X @ theta)))
        rewards.append(reward(t, arms[-1]))
    return arms


def multiplier_bootstrap(
    X,
    lam,
    pseudo,
    weights: np.ndarray,
    member: Callable[[int], int],
    basis: list[int],
    rounds: int,
    reward: Reward,
) -> list[int]:
    """Wan et al. 2023 with replicates.

    Weights are [T, B, 3], for the reward and for pseudo-rewards of 0 and 1.
    """
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(rounds):
        waiting = [k for k in basis if k not in arms]
        seen, w = X[arms], np.maximum(weights[:t, member(t)], 0.0) * [1.0, pseudo, pseudo]
        G = lam * np.eye(X.shape[1]) + seen.T @ np.diag(w.sum(axis=1)) @ seen
        theta = np.linalg.solve(G, seen.T @ (w[:, 0] * np.array(rewards) + w[:, 2]))
        arms.append(waiting[t % len(waiting)] if waiting else int(np.argmax(X @ theta)))
        rewards.append(reward(t, arms[-1]))
    return arms


def phe_of_arms(
    arms: int, a: float, heads: Callable[[int, np.ndarray], np.ndarray], rounds: int, reward: Reward
) -> list[int]:
    """Kveton et al. 2019: the largest mean of rewards and ceil(a s) fair coins."""
    sums, counts, played = np.zeros(arms), np.zeros(arms, int), []
    for t in range(rounds):
        coins = np.array([int(np.ceil(a * s)) for s in counts])
        U = heads(t, coins)
        waiting = [k for k in range(arms) if counts[k] == 0]
        k = waiting[t % len(waiting)] if waiting else int(np.argmax((sums + U) / (counts + coins)))
        played.append(k)
        sums[k] += reward(t, k)
        counts[k] += 1
    return played


def ensemble_plus_plus(
    X, lam, scale, S, z: np.ndarray, zeta: np.ndarray, reward: Reward
) -> list[int]:
    """Linear Ensemble++: S is [d, M], z and zeta are [T, M]."""
    arms: list[int] = []
    rewards: list[float] = []
    for t in range(len(z)):
        V, theta_hat = ridge(X, lam, arms, rewards)
        arms.append(int(np.argmax(X @ (theta_hat + scale * np.linalg.solve(V, S @ zeta[t])))))
        rewards.append(reward(t, arms[-1]))
        S = S + np.outer(X[arms[-1]], z[t])
    return arms


def ratio(gaps: np.ndarray, gains: np.ndarray, pi: np.ndarray) -> float:
    gain = gains @ pi
    return float((gaps @ pi) ** 2 / gain) if gain > 0 else np.inf


def gaps_and_gains(X: np.ndarray, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Delta and v of Russo & Van Roy 2018 with the members [m, d] for a posterior."""
    votes = np.argmax(thetas @ X.T, axis=1)
    mu = thetas.mean(axis=0)
    rho, gains = 0.0, np.zeros(len(X))
    for k in set(votes.tolist()):
        p, mu_k = np.mean(votes == k), thetas[votes == k].mean(axis=0)
        rho += p * X[k] @ mu_k
        gains += p * (X @ (mu_k - mu)) ** 2
    return rho - X @ mu, gains


def information_directed(X: np.ndarray, thetas: np.ndarray) -> np.ndarray:
    """The distribution of a round: [K], by a numerical search over every pair."""
    gaps, gains = gaps_and_gains(X, thetas)
    if gains.max() < 1e-20:
        return np.eye(len(X))[np.argmax(X @ thetas.mean(axis=0))]
    best = min((np.eye(len(X))[k] for k in range(len(X))), key=lambda pi: ratio(gaps, gains, pi))
    for i in range(len(X)):
        for k in range(i):

            def mixed(q: float, i: int = i, k: int = k) -> np.ndarray:
                return q * np.eye(len(X))[i] + (1 - q) * np.eye(len(X))[k]

            found = minimize_scalar(
                lambda q: ratio(gaps, gains, mixed(q)),
                bounds=(0, 1),
                method="bounded",
                options={"xatol": 1e-10},
            )
            if found.fun < (1 - 1e-9) * ratio(gaps, gains, best):
                best = mixed(found.x)
    return best
