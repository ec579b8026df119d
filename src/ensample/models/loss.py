"""What members minimise: squares, or the logistic loss where rewards are shares and clicks."""

from abc import ABC, abstractmethod

import numpy as np

from ensample.errors import InvalidArgument
from ensample.types import FloatArray

__all__ = ["LOSSES", "Loss"]


class Loss(ABC):
    """Of an output u and a reward y that is perturbed by z."""

    def check(self, y: float) -> None:  # noqa: B027 (any finite number will do)
        """Raise on a reward that it is not for."""

    @abstractmethod
    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        """The rewards that outputs stand for, where rewards have this mean and spread."""

    @abstractmethod
    def slope(self, outputs: FloatArray, standard: FloatArray, rewards: FloatArray, scale: float, z: FloatArray) -> FloatArray:
        """The derivative by the outputs [B, m], of rewards [B] that are also given in standard units."""

    @abstractmethod
    def scale(self, spread: float, sigma: float, boldness: float | None) -> float:
        """What multiplies the perturbations of `slope`."""

    @abstractmethod
    def pull(self, spread: float, sigma: float) -> float:
        """lam, the strength of the pull to the initial weights, where it is not given."""


class SquaredLoss(Loss):
    """(u - (y - mean) / spread - z)^2 / 2: outputs are rewards in units of their spread."""

    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        return mean + spread * outputs

    def slope(self, outputs: FloatArray, standard: FloatArray, rewards: FloatArray, scale: float, z: FloatArray) -> FloatArray:
        return outputs - standard[:, None] - scale * z

    def scale(self, spread: float, sigma: float, boldness: float | None) -> float:
        return (1.0 if boldness is None else boldness * sigma) / spread

    def pull(self, spread: float, sigma: float) -> float:
        return (sigma / spread) ** 2


class LogisticLoss(Loss):
    """A(u) - (y + s z) u with A(u) = log(1 + e^u) and s^2 = A''(u) at the members' mean: the loss, perturbed linearly.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss minimisation",
    AISTATS 2024.
    """

    def check(self, y: float) -> None:
        if not 0.0 <= y <= 1.0:
            raise InvalidArgument("reward", y, "a number from 0 to 1 for the logistic loss")

    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        return sigmoid(outputs)

    def slope(self, outputs: FloatArray, standard: FloatArray, rewards: FloatArray, scale: float, z: FloatArray) -> FloatArray:
        centre = sigmoid(outputs.mean(axis=1, keepdims=True))
        return sigmoid(outputs) - rewards[:, None] - scale * np.sqrt(centre * (1.0 - centre)) * z

    def scale(self, spread: float, sigma: float, boldness: float | None) -> float:
        return 1.0 if boldness is None else boldness

    def pull(self, spread: float, sigma: float) -> float:
        return 1.0  # the noise is known: that of a Bernoulli reward


def sigmoid(u: FloatArray) -> FloatArray:
    """1 / (1 + e^-u), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * u)))


LOSSES: dict[str, Loss] = {"squared": SquaredLoss(), "logistic": LogisticLoss()}
