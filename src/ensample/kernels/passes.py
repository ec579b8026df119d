"""Forward and back through many networks, member by member: what one member computes is still at hand for its next layer.

Hidden units of a member are one row of numbers: B rows of features times the first hidden layer, then the second, and so on.
Products are those of SciPy's BLAS, which numba calls.
"""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import kernel, loop
from ensample.kernels.networks import Last, activate_row, gate_last, gate_row
from ensample.types import FloatArray, IntArray

__all__ = ["Shape", "Space", "backward", "forward"]


class Shape(NamedTuple):
    """How a vector of weights is cut: for each layer matrices [m, in, out], then biases [m, out]."""

    widths: IntArray  # [L + 1], from the features to the one output
    begins: IntArray  # [L], where the matrices of a layer begin
    size: int  # m
    kind: int  # of activation


class MemberPart(NamedTuple):
    """One member's part of such a vector: of weights, or of their gradient."""

    shape: Shape
    values: FloatArray  # [n]
    member: int


class Space(NamedTuple):
    """What passes write to."""

    units: FloatArray  # [m, .] hidden units, a row for each member
    errors: FloatArray  # [2, .] room for the units of the widest layer, twice
    turned: FloatArray  # [.] room for the widest matrix between hidden layers
    gradient: FloatArray  # [n]


@loop
def flat_matrix(part: MemberPart, layer: int) -> FloatArray:
    """[in out], a view."""
    size = part.shape.widths[layer] * part.shape.widths[layer + 1]
    begin = part.shape.begins[layer] + part.member * size
    return part.values[begin : begin + size]


@loop
def matrix(part: MemberPart, layer: int) -> FloatArray:
    """[in, out], a view."""
    return flat_matrix(part, layer).reshape((part.shape.widths[layer], part.shape.widths[layer + 1]))


@loop
def bias(part: MemberPart, layer: int) -> FloatArray:
    """[out], a view."""
    before, after = part.shape.widths[layer], part.shape.widths[layer + 1]
    begin = part.shape.begins[layer] + (part.shape.size * before + part.member) * after
    return part.values[begin : begin + after]


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
    for place in range(outputs.shape[0]):
        forward_one(MemberPart(shape, weights, first + place), rows, units[place], outputs[place])


@kernel
def forward_one(weights: MemberPart, rows: FloatArray, units: FloatArray, outputs: FloatArray) -> None:
    """One member's hidden units and outputs [B]."""
    shape, given, last, batch = weights.shape, rows, weights.shape.widths.size - 2, rows.shape[0]
    for layer in range(last):
        reached = hidden(shape, units, layer, batch)
        np.dot(given, matrix(weights, layer), reached)
        shift = bias(weights, layer)
        for b in range(batch):
            activate_row(reached[b], shift, shape.kind)
        given = reached
    np.dot(given, flat_matrix(weights, last), outputs)
    constant = bias(weights, last)[0]
    for b in range(batch):
        outputs[b] += constant


@kernel
def backward(shape: Shape, weights: FloatArray, rows: FloatArray, delta: FloatArray, first: int, space: Space) -> None:
    """The gradient of a loss whose derivatives by the outputs are `delta` [m, B], 0 before row `first`.

    `space` is as `forward` left it.
    """
    for member in range(shape.size):
        into = MemberPart(shape, space.gradient, member)
        backward_one(MemberPart(shape, weights, member), rows, delta[member], first, space, into)


@kernel
def backward_one(
    weights: MemberPart, rows: FloatArray, delta: FloatArray, first: int, space: Space, gradient: MemberPart
) -> None:
    """One member's gradient, of derivatives `delta` [B]."""
    shape, units, batch = weights.shape, space.units[weights.member], rows.shape[0]
    last = shape.widths.size - 2
    given, slopes = hidden(shape, units, last - 1, batch)[first:], delta[first:]
    outmost = Last(flat_matrix(weights, last), cleared(flat_matrix(gradient, last)))
    bias(gradient, last)[0] = total(slopes)
    error = space.errors[0, : given.size].reshape(given.shape)
    sums = cleared(bias(gradient, last - 1))
    for b in range(slopes.size):
        gate_last(error[b], given[b], shape.kind, sums, slopes[b], outmost)
    for layer in range(last - 1, 0, -1):
        given = hidden(shape, units, layer - 1, batch)[first:]
        np.dot(given.T, error, matrix(gradient, layer))
        before, after = shape.widths[layer], shape.widths[layer + 1]
        by = space.turned[: before * after].reshape((after, before))
        turn(matrix(weights, layer), by)
        further = space.errors[(last - layer) % 2, : given.size].reshape(given.shape)
        np.dot(error, by, further)
        error, sums = further, cleared(bias(gradient, layer - 1))
        for b in range(slopes.size):
            gate_row(error[b], given[b], shape.kind, sums)
    np.dot(rows[first:].T, error, matrix(gradient, 0))


@loop
def cleared(values: FloatArray) -> FloatArray:
    """The same array, of zeros."""
    for i in range(values.size):
        values[i] = 0.0
    return values


@loop
def total(values: FloatArray) -> float:
    found = 0.0
    for b in range(values.size):
        found += values[b]
    return found


@loop
def turn(values: FloatArray, turned: FloatArray) -> None:
    """A matrix, copied: BLAS takes half as long again for products with one that is only seen as turned."""
    for k in range(values.shape[1]):
        for i in range(values.shape[0]):
            turned[k, i] = values[i, k]
