"""The part of the state that every linear policy shares: V, b, V^-1 and theta_hat."""

import numpy as np

from ensample.kernels import ridge
from ensample.types import FloatArray

__all__ = ["Ridge"]


class Ridge:
    """theta_hat = V^-1 b, with V and b to twice the digits of a double. The kernels change `state` in place."""

    def __init__(self, dim: int, regularization: float) -> None:
        self.state = np.zeros((3 * dim + 5, dim))  # as `kernels.ridge.parts` reads it
        np.fill_diagonal(self.gram, regularization)
        np.fill_diagonal(self.inverse, 1.0 / regularization)

    @property
    def dim(self) -> int:
        return self.state.shape[1]

    @property
    def gram(self) -> FloatArray:
        """V [d, d]: a view."""
        return self.state[: self.dim]

    @property
    def inverse(self) -> FloatArray:
        """V^-1 [d, d]: a view."""
        return self.state[2 * self.dim : 3 * self.dim]

    @property
    def mean(self) -> FloatArray:
        """theta_hat [d]: a view."""
        mean: FloatArray = self.state[3 * self.dim + ridge.MEAN]
        return mean

    @property
    def count(self) -> int:
        """The number of observations taken in."""
        return int(self.state[3 * self.dim + ridge.COUNT, 0])

    @property
    def information(self) -> float:
        """log(det V / lam^d)."""
        return float(self.state[3 * self.dim + ridge.INFORMATION, 0])

    def tend(self, due: bool) -> None:
        """After an observation, compute V^-1 and theta_hat anew if that is due. Doing it twice changes nothing."""
        if due:
            ridge.polish(self.state)
