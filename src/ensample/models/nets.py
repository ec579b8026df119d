"""What an ensemble asks of its networks, whoever computes them."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.kernels.descent import Moving, stride
from ensample.kernels.minibatches import FETCHED, Lesson, Minibatch, aim, fetch, merge
from ensample.kernels.training import commit
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
        """What `forward`, `gradient` and `step` may write to when they are given it; one at a time."""
        return None

    @abstractmethod
    def forward(self, weights: FloatArray, rows: FloatArray, room: Any = None) -> tuple[Any, FloatArray]:
        """(what `gradient` needs to know, what each member gives for each row [B, d]: [m, B])."""

    @abstractmethod
    def gradient(self, weights: FloatArray, rows: FloatArray, tape: Any, delta: FloatArray, room: Any = None) -> FloatArray:
        """Of a loss whose derivatives by the outputs of `forward` are `delta` [m, B]: [n], until the room is used again."""

    def step(self, lesson: Lesson, batch: Minibatch, moving: Moving, rate: float, number: int, room: Any = None) -> int:
        """One step downhill on minibatch `number` and, where it is the round's last, all that an observation changes besides.

        All of it, and LEARNED; or nothing, and REFUSED where the gradient is not finite, or the number of a place in memory
        that members have to add to first.
        """
        missing = fetch(lesson, batch)
        if missing != FETCHED:
            return missing
        weights = (moving.begun if len(moving.begun) else moving.weights)[0]
        rows = batch.seen[: merge(batch.seen, batch.which)]
        tape, outputs = self.forward(weights, rows, room)
        delta = np.empty(outputs.shape)
        how = stride(aim(lesson, batch, number, outputs, delta), rate, number)
        gradient = np.ascontiguousarray(self.gradient(weights, rows, tape, delta, room), np.float64)
        return commit(lesson, number, moving, gradient, how)

    def outputs(self, weights: FloatArray, rows: FloatArray) -> FloatArray:
        """What each member gives for each row [B, d]: [m, B]."""
        return self.forward(weights, rows)[1]
