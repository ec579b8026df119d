"""Many small networks of one shape, trained together: batched matrix products in NumPy.

All weights are one vector, cut into a matrix and a bias for each layer. The first layer's matrix is [d, m, h]: where all
members see the same rows it is one product with a [d, m h] matrix. The others are [m, in, out], a product for each member.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.networks import LEAKY, RELU, TANH, activate, gate, spread_error
from ensample.models.nets import Nets
from ensample.types import FloatArray

__all__ = ["ACTIVATIONS", "Networks"]

ACTIVATIONS = {"relu": RELU, "leaky": LEAKY, "tanh": TANH}


class Layer(NamedTuple):
    """Views of a vector of weights."""

    matrix: FloatArray  # [d, m, h] in the first layer, [m, in, out] in others
    bias: FloatArray  # [m, out]


class Slate:
    """What training writes to, over and over: fresh megabytes each time would have to be cleared by the system first."""

    def __init__(self, nets: "Networks") -> None:
        self.nets = nets
        self._units = [np.empty((0, nets.size * width)) for width in (*nets.widths[1:], *nets.widths[1:-1])]

    def units(self, place: int, rows: int) -> FloatArray:
        """Hidden units, or outputs, of layer `place` for so many rows; past the last layer the errors of the hidden ones."""
        if len(self._units[place]) < rows:
            self._units[place] = np.empty((rows, self._units[place].shape[1]))
        return self._units[place][:rows]

    @cached_property
    def gradient(self) -> FloatArray:
        return np.empty(self.nets.count)


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
        for place, (width, after) in enumerate(pairwise(self.widths)):
            self.shapes += [(size, width, after) if place else (width, size, after), (size, after)]
        self.count = sum(math.prod(shape) for shape in self.shapes)

    def room(self) -> Slate:
        return Slate(self)

    def layers(self, weights: FloatArray) -> list[Layer]:
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
        layers = self.layers(weights)
        units = rows @ layers[0].matrix[:, member]
        for before, layer in pairwise(layers):
            activate(units, before.bias[member], self.kind)
            units = units @ layer.matrix[member]
        return np.asarray(units[:, 0] + layers[-1].bias[member])

    def forward(self, weights: FloatArray, rows: FloatArray, room: Slate | None = None) -> tuple[list[FloatArray], FloatArray]:
        """(hidden units [B, m h] of each layer, outputs [B, m])."""
        layers, room, B = self.layers(weights), room or Slate(self), len(rows)
        hidden, units = [], room.units(0, B)
        np.matmul(rows, layers[0].matrix.reshape(self.dim, -1), out=units)
        for place, (before, layer) in enumerate(pairwise(layers), 1):
            activate(units, before.bias.ravel(), self.kind)
            hidden.append(units)
            units = room.units(place, B)
            np.matmul(self.by_member(hidden[-1]), layer.matrix, out=self.by_member(units))
        return hidden, units + layers[-1].bias[:, 0]

    def gradient(
        self,
        weights: FloatArray,
        rows: FloatArray,
        hidden: list[FloatArray],
        delta: FloatArray,
        room: Slate | None = None,
    ) -> FloatArray:
        """Of a loss whose derivative by the outputs is `delta` [B, m]: [count]."""
        layers, room, B = self.layers(weights), room or Slate(self), len(rows)
        parts, last = self.layers(room.gradient), len(layers) - 1
        np.matmul(self.by_member(hidden[-1]).mT, self.by_member(delta), out=parts[-1].matrix)
        np.sum(delta, axis=0, out=parts[-1].bias[:, 0])
        errors = room.units(2 * last, B)
        spread_error(delta, layers[-1].matrix[:, :, 0], hidden[-1], self.kind, errors, parts[-2].bias.ravel())
        for k in range(last - 1, 0, -1):
            np.matmul(self.by_member(hidden[k - 1]).mT, self.by_member(errors), out=parts[k].matrix)
            further = room.units(last + k, B)
            np.matmul(self.by_member(errors), layers[k].matrix.mT, out=self.by_member(further))
            gate(further, hidden[k - 1], self.kind, parts[k - 1].bias.ravel())
            errors = further
        np.matmul(rows.T, errors, out=parts[0].matrix.reshape(self.dim, -1))
        return room.gradient

    def by_member(self, units: FloatArray) -> FloatArray:
        """[B, m h] as [m, B, h], a view."""
        return units.reshape(len(units), self.size, -1).transpose(1, 0, 2)
