"""The part of the state that every linear policy shares: V, b, V^-1 and theta_hat."""

import numpy as np

from ensample.kernels import ridge
from ensample.types import FloatArray

__all__ = ["Ridge"]

INTERVAL = 256  # observations between two polishings (or d, where that is more: O(d^3) once in d rounds)
STEEP = 1e4  # an observation that shrinks its own variance this many times costs Sherman-Morrison four digits


class Ridge:
    """theta_hat = V^-1 b, with V and b to twice the digits of a double. The kernels change `state` in place."""

    def __init__(self, dim: int, regularization: float) -> None:
        self.state = np.zeros((3 * dim + 3, dim))  # as `kernels.ridge.parts` reads it
        self.gram: FloatArray = self.state[:dim]
        self.mean: FloatArray = self.state[-1]
        inverse = self.state[2 * dim : 3 * dim]
        np.fill_diagonal(self.gram, regularization)
        np.fill_diagonal(inverse, 1.0 / regularization)
        self._interval = max(INTERVAL, dim)

    def tend(self, count: int, leverage: float) -> None:
        """After observation number `count`, compute V^-1 and theta_hat anew if that is due."""
        if leverage > STEEP or count % self._interval == 0:
            ridge.polish(self.state)
