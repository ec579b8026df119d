"""Calibration as its module states it: eigenvalues, matrix inverses, an optimiser."""

import math

import numpy as np
from scipy import optimize

PRIOR_COUNT = 1.0


def sizes_of(X: np.ndarray) -> np.ndarray:
    return np.sqrt((X**2).mean(axis=0))


def step(
    G: np.ndarray, b: np.ndarray, yy: float, n: int, noise: float, spread: float
) -> tuple[float, float, float]:
    """One step of the fixed point: (sigma^2, tau^2, gamma)."""
    lam = min(max(noise / spread, 1e-6), 1e6)
    eigenvalues = np.linalg.eigvalsh(G)
    gamma = float((eigenvalues / (lam + eigenvalues)).sum())
    theta = np.linalg.solve(G + lam * np.eye(len(b)), b)
    rss = yy - 2.0 * theta @ b + theta @ G @ theta
    m2, x2 = yy / n, np.trace(G) / n
    noise = (rss + PRIOR_COUNT * m2) / (n - gamma + PRIOR_COUNT)
    spread = (theta @ theta + PRIOR_COUNT * m2 / x2) / (gamma + PRIOR_COUNT)
    return float(noise), float(spread), gamma


def fixed_point(
    G: np.ndarray, b: np.ndarray, yy: float, n: int, noise: float, spread: float, steps: int = 20
) -> tuple:
    """(sigma^2, tau^2, gamma) after some steps, or when nothing changes."""
    gamma = 0.0
    for _ in range(steps):
        last = noise, spread
        noise, spread, gamma = step(G, b, yy, n, noise, spread)
        if abs(noise - last[0]) <= 1e-9 * noise and abs(spread - last[1]) <= 1e-9 * spread:
            break
    return noise, spread, gamma


def most_likely(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Maximise the density of y ~ N(0, sigma^2 I + tau^2 X X') times the two priors.

    Return (sigma^2, tau^2), by an optimiser.
    """
    n = len(y)
    m2, x2 = float((y**2).mean()), float((X**2).sum() / n)

    def loss(logs: np.ndarray) -> float:
        noise, spread = np.exp(logs)
        covariance = noise * np.eye(n) + spread * X @ X.T
        fit = np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
        opinions = PRIOR_COUNT * (logs.sum() + m2 / noise + m2 / x2 / spread)
        return 0.5 * float(fit + opinions)

    start = np.log([m2, m2 / x2])
    found = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 10_000},
    )
    return tuple(np.exp(found.x))


class Textbook:
    """Ensemble sampling that calibrates itself, from the whole history at every look.

    Members theta^j [m, d].
    """

    def __init__(self, sizes: np.ndarray, W: np.ndarray, boldness: float) -> None:
        self.sizes, self.W = sizes, W  # W: [m, d]
        self.boldness = boldness  # what multiplies sigma
        self.X: list[np.ndarray] = []
        self.Y: list[float] = []
        self.Z: list[np.ndarray] = []
        self.noise = self.spread = 0.0
        self.lam, self.asked = 1.0, 0

    def learn(self, x: np.ndarray, y: float, z: np.ndarray) -> None:
        self.X.append(x / self.sizes)
        self.Y.append(y)
        self.Z.append(z)
        n, Y = len(self.X), np.array(self.Y)
        if n >= 1.25 * self.asked and Y.any():
            X, yy = np.array(self.X), float(Y @ Y)
            if self.noise == 0.0:
                self.noise = self.spread = yy / n
            self.noise, spread, _ = fixed_point(X.T @ X, X.T @ Y, yy, n, self.noise, self.spread)
            self.spread = max(spread, yy / (X**2).sum())
            self.lam = min(max(self.noise / self.spread, 1e-6), 1e6)
        if n >= 1.25 * self.asked:
            self.asked = n

    def estimates(self) -> np.ndarray:
        X, Y, Z = np.array(self.X), np.array(self.Y), np.array(self.Z)  # [n, d], [n], [n, m]
        V = X.T @ X + self.lam * np.eye(X.shape[1])
        sigma = math.sqrt(self.noise) or 1.0
        S = math.sqrt(self.lam) * self.W + Z.T @ X
        return np.linalg.solve(V, (X.T @ Y + self.boldness * sigma * S).T).T / self.sizes
