"""Rewards linear in the features: ridge regression, one observation at a time."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Offer
from ensample.checks import vector, whole
from ensample.kernels import ensemble
from ensample.kernels.ridge import Ridge, new_ridge, observe, views
from ensample.models.model import Model
from ensample.types import FloatArray, IntArray

__all__ = ["LinearModel"]


class LinearModel(Model):
    """One member, theta_hat = V^-1 b, with V and b to twice the digits of a double."""

    size: int | None = 1
    whole: ClassVar[bool] = True

    def __init__(self, dim: int, regularization: float) -> None:
        self.dim = dim
        self.regularization = regularization
        self.state = new_ridge(dim, regularization)  # the kernels change it in place
        self.parts: Ridge = views(self.state)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "parts"}  # copies of views would be no views

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self.parts = views(self.state)

    @property
    def count(self) -> int:
        return int(self.parts.seen[0])

    @property
    def mean(self) -> FloatArray:
        return self.parts.mean

    @property
    def gram(self) -> FloatArray:
        return self.parts.gram

    @property
    def inverse(self) -> FloatArray:
        return self.parts.inverse

    @property
    def information(self) -> float:
        """log(det V / lam^d)."""
        return float(self.parts.information[0])

    def theta(self, member: int) -> FloatArray:
        """What a member multiplies features by: [d]."""
        return self.mean

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        return rows @ self.theta(member)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        return best_for(self.theta(member), offer)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        arm, x = self.best(0, offer)
        return np.array([arm], np.int64), np.array([x @ self.theta(0)])

    def estimates(self, round: int) -> FloatArray:
        return self.theta(round)[None].copy()

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        observe(self.state, x, y)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"ridge": self.state}


def best_for(theta: FloatArray, offer: Offer) -> tuple[int | None, FloatArray]:
    """argmax_x x'theta among the arms on offer, which may be the user's own."""
    if offer.rows is not None:
        arm = ensemble.greedy(theta, offer.by_coordinate)
        return arm, offer.rows[arm]
    number, x = offer.best(theta)
    x = vector("best(theta)", x, theta.size)
    x.setflags(write=False)
    return number if number is None else whole("best(theta)", number, 0), x
