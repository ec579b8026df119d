"""Many small networks of one shape, trained together.

All weights are one vector, cut into a matrix [m, in, out] and a bias [m, out] for each layer: a product for each member
(`kernels.passes`), whose numbers are then still at hand for the next.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.extras import require
from ensample.kernels.descent import Moving
from ensample.kernels.live import BITS, LEAST, LONGEST, SPARE, padded
from ensample.kernels.minibatches import Lesson, Minibatch
from ensample.kernels.networks import LEAKY, RELU, TANH
from ensample.kernels.passes import Shape, Space, backward, forward
from ensample.kernels.track import aligned
from ensample.kernels.training import train
from ensample.models.nets import Nets
from ensample.types import FloatArray

__all__ = ["ACTIVATIONS", "Networks"]

ACTIVATIONS = {"relu": RELU, "leaky": LEAKY, "tanh": TANH}


class Layer(NamedTuple):
    """Views of a vector of weights."""

    matrix: FloatArray  # [m, in, out]
    bias: FloatArray  # [m, out]


class Slate:
    """What training writes to, over and over: fresh megabytes each time would have to be cleared by the system first.

    Nearly all of it is one array, which the system backs by large pages where it has them.
    """

    def __init__(self, nets: "Networks") -> None:
        self.nets = nets
        self._most = 0  # rows of features that it is for

    def __reduce__(self) -> tuple[Any, ...]:
        return Slate, (self.nets,)  # copies of views would be none

    def fit(self, rows: int) -> Space:
        """Room for so many rows of features."""
        if rows > self._most:
            self._build(max(rows, 2 * self._most))
        return self._space

    def _build(self, rows: int) -> None:
        self._space = room_to_train(self.nets, rows)
        self._most = rows


def room_to_train(nets: "Networks", rows: int) -> Space:
    """Room for so many rows of features, on their way forward through all members and back."""
    hidden, widest = nets.widths[1:-1], max(nets.widths[1:-1])
    matrix, errors, units, gradient = aligned(
        (max(room_for_matrices(nets, widest), LONGEST * (BITS + LONGEST) + BITS),),
        (2, rows * widest + SPARE),
        (nets.size, rows * sum(hidden)),
        (nets.count + SPARE,),  # the last: there is more after the units
    )
    return Space(units, errors, matrix, np.zeros(max(rows, BITS), np.uint64), gradient[: nets.count])


def room_to_ask(nets: "Networks", rows: int) -> Space:
    """Room for their way forward through one member."""
    units, none = np.empty(rows * sum(nets.widths[1:-1]) + SPARE)[:-SPARE].reshape(1, -1), np.empty((2, 0))
    matrix = np.empty(room_for_matrices(nets, LONGEST) if rows >= LEAST else 0)
    return Space(units, none, matrix, np.empty(rows, np.uint64), none[0])


def room_for_matrices(nets: "Networks", most: int) -> int:
    """Numbers of the largest matrix, padded, and a row, between hidden layers that have at most so many units."""
    widths = (max(pair) for pair in pairwise(nets.widths[1:-1]))
    return max(((width + 1) * padded(width) for width in widths if width <= most), default=0)


class Networks(Nets):
    """m networks x -> R with hidden layers of the given widths: the arithmetic, and no state of its own.

    f(x) = W_L phi(... phi(W_1'x + b_1) ...) + b_L for each member. Weights are drawn from N(0, 2 / in), those of the last layer
    from N(0, 1 / in): then f(x) has about unit variance where |x|^2 is about d.

    Reference: K. He, X. Zhang, S. Ren and J. Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """

    def __init__(self, dim: int, hidden: Sequence[int], activation: str, size: int) -> None:
        require("scipy", user="Neural")  # before a kernel is called: without it numba ends the process
        self.dim, self.size, self.kind = dim, size, ACTIVATIONS[activation]
        self.widths = [dim, *hidden, 1]
        ends = np.cumsum([size * (width + 1) * after for width, after in pairwise(self.widths)])
        self.count = int(ends[-1])
        self.shape = Shape(np.array(self.widths), np.append(0, ends[:-1]), size, self.kind)

    def room(self) -> Slate:
        return Slate(self)

    def layers(self, weights: FloatArray) -> list[Layer]:
        """Views of a vector [count]."""
        parts = np.split(weights, self.shape.begins[1:])
        layers = []
        for part, (width, after) in zip(parts, pairwise(self.widths), strict=True):
            matrices, biases = np.split(part, [self.size * width * after])
            layers.append(Layer(matrices.reshape(self.size, width, after), biases.reshape(self.size, after)))
        return layers

    def spreads(self) -> FloatArray:
        """The standard deviation with which each weight is drawn: [count]."""
        spreads = np.empty(self.count)
        for place, layer in enumerate(self.layers(spreads)):
            gain = 1.0 if place + 2 == len(self.widths) else 2.0
            layer.matrix[:] = layer.bias[:] = math.sqrt(gain / self.widths[place])
        return spreads

    def draw(self, rng: Generator) -> FloatArray:
        """Weights before the first observation: [count]."""
        return rng.standard_normal(self.count) * self.spreads()

    def member(self, weights: FloatArray, member: int, rows: FloatArray) -> FloatArray:
        """What one member gives for each row [B, d]: [B]."""
        space, outputs = room_to_ask(self, len(rows)), np.empty((1, len(rows)))
        forward(self.shape, weights, np.ascontiguousarray(rows), member, space, outputs)
        return np.asarray(outputs[0])

    def forward(self, weights: FloatArray, rows: FloatArray, room: Slate | None = None) -> tuple[FloatArray, FloatArray]:
        """(hidden units [m, .], outputs [m, B])."""
        rows, outputs = np.ascontiguousarray(rows), np.empty((self.size, len(rows)))
        space = (room or Slate(self)).fit(len(rows))
        forward(self.shape, weights, rows, 0, space, outputs)
        return space.units, outputs

    def gradient(
        self, weights: FloatArray, rows: FloatArray, units: FloatArray, delta: FloatArray, room: Slate | None = None
    ) -> FloatArray:
        """Of a loss whose derivative by the outputs is `delta` [m, B]: [count]. `units` as `forward` gave them, and no copy."""
        space = (room or Slate(self)).fit(len(rows))._replace(units=units)
        backward(self.shape, weights, np.ascontiguousarray(rows), delta, 0, space)
        return space.gradient

    def step(
        self, lesson: Lesson, batch: Minibatch, moving: Moving, rate: float, number: int, room: Slate | None = None
    ) -> int:
        space = (room or Slate(self)).fit(len(batch.seen))
        return train(self.shape, lesson, batch, moving, rate, number, space)
