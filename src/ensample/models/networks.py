"""Many small networks of one shape, whose weights are one vector."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample import _core
from ensample.perturbations.laws import standard_normals
from ensample.types import FloatArray, IntArray

ACTIVATIONS = {"relu": 0, "leaky": 1, "tanh": 2}

GradientOf = Callable[[FloatArray], FloatArray]


class Nets(ABC):
    """m networks R^d -> R whose weights are one vector: the arithmetic, and no state of its own."""

    dim: int
    size: int  # m
    count: int  # n, the number of weights of all members
    gain: float = 1.0  # the standard deviation of outputs before the first observation, about
    keeps_draws: ClassVar[bool] = (
        False  # True if another version may draw otherwise: then snapshots hold what was drawn
    )

    @abstractmethod
    def draw(self, rng: Generator) -> FloatArray:
        """Draw weights before the first observation: [n]."""

    @abstractmethod
    def spreads(self) -> FloatArray:
        """Return the standard deviations with which they are drawn: [n]."""

    @abstractmethod
    def member(self, weights: FloatArray, member: int, rows: FloatArray) -> FloatArray:
        """Return the outputs of one member for rows of features [B, d]: [B]."""

    @abstractmethod
    def outputs(self, weights: FloatArray, rows: FloatArray) -> FloatArray:
        """Return the outputs of all members for rows of features [B, d]: [m, B]."""

    @abstractmethod
    def differentiate(self, weights: FloatArray, rows: FloatArray) -> tuple[FloatArray, GradientOf]:
        """Return `outputs`, and the gradient [n] as a function of a loss's derivatives [m, B]."""


class Layer(NamedTuple):
    """Views of a vector of weights."""

    matrix: FloatArray  # [m, in, out]
    bias: FloatArray  # [m, out]


class Shape(NamedTuple):
    """Shape of networks as the core takes it."""

    widths: IntArray  # [L + 1], from the features to the one output
    members: int
    activation: int


class Networks(Nets):
    """m networks x -> R with hidden layers of the given widths, computed by the core.

    f(x) = W_L phi(... phi(W_1'x + b_1) ...) + b_L for each member. Weights are drawn from N(0, 2 /
    in), those of the last layer from N(0, 1 / in): then f(x) has about unit variance where |x|^2 is
    about d. The vector of weights holds, for each layer, matrices [m, in, out] and then biases [m,
    out].

    Reference: K. He, X. Zhang, S. Ren and J. Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """

    def __init__(self, dim: int, hidden: Sequence[int], activation: str, size: int) -> None:
        self.dim, self.size = dim, size
        self.widths = [dim, *hidden, 1]
        self.count = size * sum((width + 1) * after for width, after in pairwise(self.widths))
        self.shape = Shape(np.array(self.widths, np.int64), size, ACTIVATIONS[activation])

    def layers(self, weights: FloatArray) -> list[Layer]:
        """Return views of a vector of weights [n]."""
        layers, begin = [], 0
        for width, after in pairwise(self.widths):
            middle = begin + self.size * width * after
            end = middle + self.size * after
            layers.append(
                Layer(
                    weights[begin:middle].reshape(self.size, width, after),
                    weights[middle:end].reshape(self.size, after),
                )
            )
            begin = end
        return layers

    def spreads(self) -> FloatArray:
        spreads = np.empty(self.count)
        for place, layer in enumerate(self.layers(spreads)):
            gain = 1.0 if place + 2 == len(self.widths) else 2.0
            layer.matrix[:] = layer.bias[:] = math.sqrt(gain / self.widths[place])
        return spreads

    def draw(self, rng: Generator) -> FloatArray:
        return standard_normals(rng, self.count) * self.spreads()

    def member(self, weights: FloatArray, member: int, rows: FloatArray) -> FloatArray:
        outputs = np.empty((1, len(rows)))
        _core.network_outputs(self.shape, weights, member, np.ascontiguousarray(rows), outputs)
        row: FloatArray = outputs[0]
        return row

    def outputs(self, weights: FloatArray, rows: FloatArray) -> FloatArray:
        outputs = np.empty((self.size, len(rows)))
        _core.network_outputs(self.shape, weights, 0, np.ascontiguousarray(rows), outputs)
        return outputs

    def differentiate(self, weights: FloatArray, rows: FloatArray) -> tuple[FloatArray, GradientOf]:
        rows = np.ascontiguousarray(rows)

        def gradient_of(slopes: FloatArray) -> FloatArray:
            gradient = np.empty(self.count)
            _core.network_gradient(
                self.shape, weights, rows, np.ascontiguousarray(slopes), gradient
            )
            return gradient

        return self.outputs(weights, rows), gradient_of
