"""Forward and back through many networks, member by member: what one member computes is still at hand for its next layer.

Hidden units of a member are one row of numbers: B rows of features times the first hidden layer, then the second, and so on.
Products are those of SciPy's BLAS, which numba calls.
"""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import kernel, loop
from ensample.kernels.networks import activate_row, gate_row
from ensample.types import FloatArray, IntArray

__all__ = ["Shape", "backward", "forward"]


class Shape(NamedTuple):
    """How a vector of weights is cut: for each layer matrices [m, in, out], then biases [m, out]."""

    widths: IntArray  # [L + 1], from the features to the one output
    begins: IntArray  # [L], where the matrices of a layer begin
    size: int  # m
    kind: int  # of activation


@loop
def matrix(shape: Shape, values: FloatArray, layer: int, member: int) -> FloatArray:
    """[in, out], a view."""
    before, after = shape.widths[layer], shape.widths[layer + 1]
    begin = shape.begins[layer] + member * before * after
    return values[begin : begin + before * after].reshape((before, after))


@loop
def bias(shape: Shape, values: FloatArray, layer: int, member: int) -> FloatArray:
    """[out], a view."""
    after = shape.widths[layer + 1]
    begin = shape.begins[layer] + (shape.size * shape.widths[layer] + member) * after
    return values[begin : begin + after]


@loop
def last_weights(shape: Shape, values: FloatArray, member: int) -> FloatArray:
    """The matrix [in, 1] of the last layer as a vector, a view."""
    before = shape.widths[shape.widths.size - 2]
    begin = shape.begins[shape.widths.size - 2] + member * before
    return values[begin : begin + before]


@loop
def hidden(shape: Shape, units: FloatArray, layer: int, batch: int) -> FloatArray:
    """The units [B, h] that a layer leads to, of one member's row of them: a view."""
    begin = 0
    for k in range(layer):
        begin += batch * shape.widths[k + 1]
    width = shape.widths[layer + 1]
    return units[begin : begin + batch * width].reshape((batch, width))


@kernel
def forward(shape: Shape, weights: FloatArray, rows: FloatArray, first: int, units: FloatArray, outputs: FloatArray) -> None:
    """Hidden units and outputs [n, B] of n members from number `first` on."""
    last, batch = shape.widths.size - 2, rows.shape[0]
    for place in range(outputs.shape[0]):
        member, given, found = first + place, rows, outputs[place]
        for layer in range(last):
            reached = hidden(shape, units[place], layer, batch)
            np.dot(given, matrix(shape, weights, layer, member), reached)
            shift = bias(shape, weights, layer, member)
            for b in range(batch):
                activate_row(reached[b], shift, shape.kind)
            given = reached
        np.dot(given, last_weights(shape, weights, member), found)
        constant = bias(shape, weights, last, member)[0]
        for b in range(batch):
            found[b] += constant


@kernel
def backward(
    shape: Shape,
    weights: FloatArray,
    rows: FloatArray,
    units: FloatArray,
    delta: FloatArray,
    errors: FloatArray,
    turned: FloatArray,
    gradient: FloatArray,
) -> None:
    """The gradient of a loss whose derivatives by the outputs are `delta` [m, B].

    `errors` [2, .] and `turned` have room for the widest layers' units and matrix.
    """
    last, batch = shape.widths.size - 2, rows.shape[0]
    for member in range(shape.size):
        given = hidden(shape, units[member], last - 1, batch)
        np.dot(given.T, delta[member], last_weights(shape, gradient, member))
        bias(shape, gradient, last, member)[0] = total(delta[member])
        error = errors[0, : given.size].reshape(given.shape)
        spread_error(delta[member], last_weights(shape, weights, member), error)
        for layer in range(last - 1, -1, -1):
            sums = bias(shape, gradient, layer, member)
            for i in range(sums.size):
                sums[i] = 0.0
            for b in range(batch):
                gate_row(error[b], given[b], shape.kind, sums)
            if layer == 0:
                np.dot(rows.T, error, matrix(shape, gradient, 0, member))
            else:
                given = hidden(shape, units[member], layer - 1, batch)
                np.dot(given.T, error, matrix(shape, gradient, layer, member))
                before, after = shape.widths[layer], shape.widths[layer + 1]
                by = turned[: before * after].reshape((after, before))
                turn(matrix(shape, weights, layer, member), by)
                further = errors[(last - layer) % 2, : given.size].reshape(given.shape)
                np.dot(error, by, further)
                error = further


@loop
def total(values: FloatArray) -> float:
    found = 0.0
    for b in range(values.size):
        found += values[b]
    return found


@loop
def spread_error(delta: FloatArray, last: FloatArray, errors: FloatArray) -> None:
    """Back through the last layer: errors[b, i] = delta[b] last[i]."""
    for b in range(errors.shape[0]):
        row = errors[b]
        for i in range(row.size):
            row[i] = delta[b] * last[i]


@loop
def turn(values: FloatArray, turned: FloatArray) -> None:
    """A matrix, copied: BLAS takes half as long again for products with one that is only seen as turned."""
    for k in range(values.shape[1]):
        for i in range(values.shape[0]):
            turned[k, i] = values[i, k]
