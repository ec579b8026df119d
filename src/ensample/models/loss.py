"""Losses of networks: squares, or the logistic loss where rewards are shares and clicks."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ensample import _core
from ensample.errors import InvalidArgument
from ensample.types import FloatArray


class Loss(ABC):
    """Of an output u and a reward y that is perturbed by z."""

    code: ClassVar[int]  # in the core (cpp/networks/state.hpp)
    expected: ClassVar[str] = (
        ""  # how errors call the rewards that it is for, where not every number is one
    )

    def check(self, y: float) -> None:  # noqa: B027 (any finite number will do)
        """Raise on a reward that it is not for."""

    @abstractmethod
    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        """Return the rewards that outputs stand for, where rewards have this mean and spread."""


class SquaredLoss(Loss):
    """(u - (y - mean) / spread - z)^2 / 2: outputs are rewards in units of their spread."""

    code = 0

    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        return mean + spread * outputs


class LogisticLoss(Loss):
    """A(u) - (y + s z) u with A(u) = log(1 + e^u) and s^2 = A''(u) at the members' mean: the loss, perturbed linearly.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss minimisation",
    AISTATS 2024.
    """

    code = 1
    expected = "a number from 0 to 1 for the logistic loss"

    def check(self, y: float) -> None:
        if not 0.0 <= y <= 1.0:
            raise InvalidArgument("reward", y, self.expected)

    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        halves = 0.5 * np.ravel(outputs)
        _core.evaluate(
            "tanh", halves, halves
        )  # without overflow, and with the same bits everywhere
        return 0.5 * (1.0 + halves.reshape(outputs.shape))


LOSSES: dict[str, Loss] = {"squared": SquaredLoss(), "logistic": LogisticLoss()}
