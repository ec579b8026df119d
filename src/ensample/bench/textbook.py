"""Linear ensemble sampling as a textbook writes it in NumPy: Sherman-Morrison, vectorised over the members."""

import numpy as np

from ensample.types import FloatArray


class Textbook:
    """All m estimates kept up to date by one outer product a round."""

    def __init__(self, features: FloatArray, size: int, scale: float, seed: int) -> None:
        self.features = features
        self.size = size
        self.scale = scale
        self.rng = np.random.default_rng(seed)
        dim = features.shape[1]
        self.inverse = np.eye(dim)
        self.theta = scale * self.rng.standard_normal((size, dim))

    def decide(self) -> int:
        member = self.rng.integers(self.size)
        return int(np.argmax(self.features @ self.theta[member]))

    def update(self, arm: int, reward: float) -> None:
        x = self.features[arm]
        u = self.inverse @ x
        gain = u / (1.0 + x @ u)
        self.inverse -= np.outer(gain, u)
        z = self.scale * self.rng.standard_normal(self.size)
        self.theta += np.outer(reward + z - self.theta @ x, gain)
