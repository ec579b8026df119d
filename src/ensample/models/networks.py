"""Many small networks of one shape, trained together: batched matrix products in NumPy.

All weights are one vector, cut into a matrix [m, in, out] and a bias [m, out] for each layer: a product for each member, whose
numbers are then still at hand for the next. (One product with a [d, m h] matrix for the first layer, whose rows all members
share, takes a tenth longer.)
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.networks import LEAKY, RELU, TANH, activate, gate, spread_error
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

    It is one array, which the system backs by large pages where it has them.
    """

    def __init__(self, nets: "Networks") -> None:
        self.nets = nets
        self._most = 0  # rows of features that it is for
        self._views: tuple[int, list[FloatArray]] = 0, []  # of so many rows

    def __reduce__(self) -> tuple[Any, ...]:
        return Slate, (self.nets,)  # copies of views would be none

    def units(self, rows: int) -> list[FloatArray]:
        """For so many rows hidden units of each layer, outputs, and errors of the hidden ones: [m, B, width] each."""
        if rows > self._most:
            self._build(max(rows, 2 * self._most))
        if rows != self._views[0]:
            parts = (part[: part.size // self._most * rows] for part in self._parts)
            self._views = rows, [part.reshape(self.nets.size, rows, -1) for part in parts]
        return self._views[1]

    def turned(self, matrices: FloatArray) -> FloatArray:
        """Matrices [m, in, out] as [m, out, in], copied: products with what is only seen as such take half as long again."""
        part = self._turned[: matrices.size].reshape(matrices.mT.shape)
        np.copyto(part, matrices.mT)
        return part

    def _build(self, rows: int) -> None:
        nets = self.nets
        widths = [nets.size * rows * width for width in (*nets.widths[1:], *nets.widths[1:-1])]
        largest = max((math.prod(shape) for shape in nets.shapes[2::2]), default=0)
        sizes = [nets.count, largest, *widths]
        self.gradient, self._turned, *self._parts = np.split(np.empty(sum(sizes)), np.cumsum(sizes)[:-1])
        self.layers = nets.cut(self.gradient)
        self._most, self._views = rows, (0, [])


class Networks(Nets):
    """m networks x -> R with hidden layers of the given widths: the arithmetic, and no state of its own.

    f(x) = W_L phi(... phi(W_1'x + b_1) ...) + b_L for each member. Weights are drawn from N(0, 2 / in), those of the last layer
    from N(0, 1 / in): then f(x) has about unit variance where |x|^2 is about d.

    Reference: K. He, X. Zhang, S. Ren and J. Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """

    def __init__(self, dim: int, hidden: Sequence[int], activation: str, size: int) -> None:
        self.dim, self.size, self.kind = dim, size, ACTIVATIONS[activation]
        self.widths = [dim, *hidden, 1]
        self.shapes: list[tuple[int, ...]] = []
        for width, after in pairwise(self.widths):
            self.shapes += [(size, width, after), (size, after)]
        self.count = sum(math.prod(shape) for shape in self.shapes)
        self._cut: tuple[FloatArray | None, list[Layer]] = None, []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cut": (None, [])}

    def room(self) -> Slate:
        return Slate(self)

    def layers(self, weights: FloatArray) -> list[Layer]:
        """Views of a vector [count], kept until another one is asked for."""
        if weights is not self._cut[0]:
            self._cut = weights, self.cut(weights)
        return self._cut[1]

    def cut(self, weights: FloatArray) -> list[Layer]:
        """Views of a vector [count]."""
        parts, first = [], 0
        for shape in self.shapes:
            last = first + math.prod(shape)
            parts.append(weights[first:last].reshape(shape))
            first = last
        return [Layer(*parts[k : k + 2]) for k in range(0, len(parts), 2)]

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
        layers, units = self.layers(weights), rows
        for place, (matrix, bias) in enumerate(layers, 1):
            units = units @ matrix[member]
            if place < len(layers):
                activate(units[None], bias[member, None], self.kind)
        return np.asarray(units[:, 0] + layers[-1].bias[member])

    def forward(self, weights: FloatArray, rows: FloatArray, room: Slate | None = None) -> tuple[list[FloatArray], FloatArray]:
        """(hidden units [m, B, h] of each layer, outputs [m, B])."""
        layers, room = self.layers(weights), room or Slate(self)
        units, before = room.units(len(rows)), rows
        for place, (matrix, bias) in enumerate(layers):
            np.matmul(before, matrix, out=units[place])
            if place + 1 < len(layers):
                before = units[place]
                activate(before, bias, self.kind)
        return units[: len(layers) - 1], units[len(layers) - 1][:, :, 0] + layers[-1].bias

    def gradient(
        self,
        weights: FloatArray,
        rows: FloatArray,
        hidden: list[FloatArray],
        delta: FloatArray,
        room: Slate | None = None,
    ) -> FloatArray:
        """Of a loss whose derivative by the outputs is `delta` [m, B]: [count]."""
        layers, room, last = self.layers(weights), room or Slate(self), len(hidden)
        units = room.units(len(rows))
        errors, parts = units[2 * last], room.layers
        np.matmul(hidden[-1].mT, delta[:, :, None], out=parts[-1].matrix)
        np.sum(delta, axis=1, out=parts[-1].bias[:, 0])
        spread_error(delta, layers[-1].matrix[:, :, 0], hidden[-1], self.kind, errors, parts[-2].bias)
        for k in range(last - 1, 0, -1):
            np.matmul(hidden[k - 1].mT, errors, out=parts[k].matrix)
            further = units[last + k]
            np.matmul(errors, room.turned(layers[k].matrix), out=further)
            gate(further, hidden[k - 1], self.kind, parts[k - 1].bias)
            errors = further
        np.matmul(rows.T, errors, out=parts[0].matrix)
        return room.gradient
