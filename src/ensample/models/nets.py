"""What an ensemble asks of its networks, whoever computes them."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.random import Generator

from ensample.types import FloatArray

__all__ = ["Nets"]


class Nets(ABC):
    """m networks R^d -> R whose weights are one vector: the arithmetic, and no state of its own."""

    dim: int
    size: int  # m
    count: int  # n, the number of weights of all members
    gain: float = 1.0  # the standard deviation of outputs before the first observation, about
    keeps_draws: ClassVar[bool] = False  # whether snapshots hold what was drawn, as it could come out otherwise elsewhere

    @abstractmethod
    def draw(self, rng: Generator) -> FloatArray:
        """Weights before the first observation: [n]."""

    @abstractmethod
    def spreads(self) -> FloatArray:
        """The standard deviations with which they are drawn: [n]."""

    @abstractmethod
    def member(self, weights: FloatArray, member: int, rows: FloatArray) -> FloatArray:
        """What one member gives for each row of features [B, d]: [B]."""

    def room(self) -> Any:
        """What `forward` and `gradient` may write to when they are given it; one at a time."""
        return None

    @abstractmethod
    def forward(self, weights: FloatArray, rows: FloatArray, room: Any = None) -> tuple[Any, FloatArray]:
        """(what `gradient` needs to know, what each member gives for each row [B, d]: [m, B])."""

    @abstractmethod
    def gradient(self, weights: FloatArray, rows: FloatArray, tape: Any, delta: FloatArray, room: Any = None) -> FloatArray:
        """Of a loss whose derivatives by the outputs of `forward` are `delta` [m, B]: [n], until the room is used again."""

    def outputs(self, weights: FloatArray, rows: FloatArray) -> FloatArray:
        """What each member gives for each row [B, d]: [m, B]."""
        return self.forward(weights, rows)[1]
