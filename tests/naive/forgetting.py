"""Forgetting as its formula states it, from the whole history at every look.

What came n observations ago has weight g^n.
"""

import math

import numpy as np

from naive.calibration import fixed_point


class Fading:
    """Ensemble sampling with a half-life: members theta^j [m, d].

    `sizes` None: scale and regularization are given.
    """

    def __init__(
        self, W: np.ndarray, half_life: float, lam: float = 1.0, sizes: np.ndarray | None = None
    ) -> None:
        self.g, self.W, self.lam, self.sizes = 2.0 ** (-1.0 / half_life), W, lam, sizes  # W: [m, d]
        self.X: list[np.ndarray] = []
        self.Y: list[float] = []
        self.Z: list[np.ndarray] = []  # [m] each
        self.fresh: list[np.ndarray] = []  # W'^j [m, d] each
        self.noise = self.spread = 0.0
        self.next = 1.0

    def learn(self, x: np.ndarray, y: float, z: np.ndarray, fresh: np.ndarray) -> None:
        self.X.append(x)
        self.Y.append(y)
        self.Z.append(z)
        self.fresh.append(fresh)
        if self.sizes is not None and len(self.X) >= self.next:
            self.calibrate(self.sizes)

    @property
    def shares(self) -> np.ndarray:
        return self.g ** np.arange(len(self.X))[::-1]

    def calibrate(self, sizes: np.ndarray) -> None:
        X, Y, shares = np.array(self.X) / sizes, np.array(self.Y), self.shares
        yy, n = float(shares @ Y**2), float(shares.sum())
        if self.noise == 0.0:
            self.noise = self.spread = yy / n
        G, b = (shares * X.T) @ X, X.T @ (shares * Y)
        self.noise, spread, _ = fixed_point(G, b, yy, n, self.noise, self.spread)
        self.spread = max(spread, yy / np.trace(G))
        self.lam = min(max(self.noise / self.spread, 1e-6), 1e6)
        self.next = max(len(self.X) + 1, math.ceil(len(self.X) + 0.25 * n))

    @property
    def prior(self) -> np.ndarray:
        return self.lam * (np.ones(self.W.shape[1]) if self.sizes is None else self.sizes**2)

    @property
    def gram(self) -> np.ndarray:
        X = np.array(self.X)
        return np.diag(self.prior) + (self.shares * X.T) @ X

    @property
    def mean(self) -> np.ndarray:
        return np.linalg.solve(self.gram, np.array(self.X).T @ (self.shares * np.array(self.Y)))

    def sums(self, fed: bool = True) -> np.ndarray:
        """S^j [m, d]; without the fresh W' unless `fed`: what plain forgetting of W would give."""
        roots = np.sqrt(self.shares)
        initial = self.g ** (len(self.X) / 2) * self.W
        if fed:
            initial = initial + math.sqrt(1.0 - self.g) * np.einsum(
                "n,njd->jd", roots, np.array(self.fresh)
            )
        learned = np.array(self.Z).T @ (roots[:, None] * np.array(self.X))
        return learned + (1.0 if self.sizes is None else np.sqrt(self.prior)) * initial

    def estimates(self, factor: float = 1.0) -> np.ndarray:
        return self.mean + factor * np.linalg.solve(self.gram, self.sums().T).T
