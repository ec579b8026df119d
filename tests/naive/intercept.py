"""Ensemble sampling with an intercept, as its module states it.

All data about their means, at every look.
"""

import math

import numpy as np

from naive.calibration import PRIOR_COUNT, Textbook


def step(
    X: np.ndarray, y: np.ndarray, length: float, noise: float, spread: float
) -> tuple[float, float]:
    """One step of the fixed point on centred data: n - 1 observations are left."""
    n, d = len(y) - 1, X.shape[1]
    lam = min(max(noise / spread, 1e-6), 1e6)
    G = X.T @ X
    gamma = float(np.trace(np.linalg.solve(G + lam * np.eye(d), G)))
    theta = np.linalg.solve(G + lam * np.eye(d), X.T @ y)
    m2 = float(y @ y) / n
    noise = (float(np.square(y - X @ theta).sum()) + PRIOR_COUNT * m2) / (n - gamma + PRIOR_COUNT)
    return noise, float(theta @ theta + PRIOR_COUNT * m2 / length) / (gamma + PRIOR_COUNT)


class TextbookWithIntercept(Textbook):
    """Members (slopes, intercept) [m, d + 1] from the whole history; the intercept is free."""

    def learn(self, x: np.ndarray, y: float, z: np.ndarray) -> None:
        self.X.append(x / self.sizes)
        self.Y.append(y)
        self.Z.append(z)
        n = len(self.X)
        if n < 1.25 * self.asked:
            return
        self.asked = n
        X, Y = np.array(self.X), np.array(self.Y)
        length, X, Y = float((X**2).sum() / n), X - X.mean(axis=0), Y - Y.mean()
        if n == 1 or not Y.any():
            return
        if self.noise == 0.0:
            self.noise = self.spread = float(Y @ Y) / (n - 1)
        for _ in range(20):
            last = self.noise, self.spread
            self.noise, self.spread = step(X, Y, length, *last)
            if (
                abs(self.noise - last[0]) <= 1e-9 * self.noise
                and abs(self.spread - last[1]) <= 1e-9 * self.spread
            ):
                break
        self.spread = max(self.spread, float(Y @ Y) / (n - 1) / length)
        self.lam = min(max(self.noise / self.spread, 1e-6), 1e6)

    def estimates(self) -> np.ndarray:
        """Fit (x, 1) to each member's rewards by least squares; only the slopes have a prior."""
        X, Y, Z = np.array(self.X), np.array(self.Y), np.array(self.Z)  # [n, d], [n], [n, m]
        d, scale = X.shape[1], self.boldness * (math.sqrt(self.noise) or 1.0)
        prior = np.hstack([math.sqrt(self.lam) * np.eye(d), np.zeros((d, 1))])
        rows = np.vstack([prior, np.hstack([X, np.ones((len(X), 1))])])
        targets = np.vstack([scale * self.W.T, Y[:, None] + scale * Z])
        thetas = np.linalg.lstsq(rows, targets, rcond=None)[0].T
        return thetas / np.append(self.sizes, 1.0)
