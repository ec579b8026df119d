"""Forward and back through many networks, member by member: what one member computes is still at hand for its next layer.

Hidden units of a member are one row of numbers: B rows of features times the first hidden layer, then the second, and so on.
Products are those of SciPy's BLAS, which numba calls, or leave zeros out (`live`).
"""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import kernel, loop
from ensample.kernels.lanes import turn_square
from ensample.kernels.live import (
    BITS,
    LEAST,
    LONGEST,
    Marks,
    covering_at,
    mark,
    padded_at,
    raise_live,
    send_live,
    weigh_live,
    weigh_pieces,
)
from ensample.kernels.networks import RELU, Last, activate, gate, gate_last
from ensample.types import FloatArray, IntArray

__all__ = ["Shape", "Space", "backward", "forward", "turn"]


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

    units: FloatArray  # [m, .] hidden units, a row for each member; more numbers follow the last
    errors: FloatArray  # [2, .] room for the units of the widest layer and SPARE more, twice
    matrix: (
        FloatArray  # [.] room for a matrix between hidden layers, padded, and a row; or for BITS rows of units, and a matrix
    )
    marks: Marks  # [B], and BITS at least
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
def forward(shape: Shape, weights: FloatArray, rows: FloatArray, first: int, space: Space, outputs: FloatArray) -> None:
    """Hidden units and outputs [n, B] of n members from number `first` on."""
    for place in range(outputs.shape[0]):
        forward_one(MemberPart(shape, weights, first + place), rows, space.units[place], space, outputs[place])


@kernel
def forward_one(weights: MemberPart, rows: FloatArray, units: FloatArray, space: Space, outputs: FloatArray) -> None:
    """One member's hidden units and outputs [B]."""
    shape, given, last, batch = weights.shape, rows, weights.shape.widths.size - 2, rows.shape[0]
    for layer in range(last):
        reached = hidden(shape, units, layer, batch)
        if not (rises_live(shape, layer, batch) and has_risen(weights, layer, given, space, reached)):
            np.dot(given, matrix(weights, layer), reached)
            activate(reached, bias(weights, layer), shape.kind)
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
    bias(gradient, last)[0] = total(slopes)
    error = space.errors[0, : given.size].reshape(given.shape)
    outmost = Last(flat_matrix(weights, last), flat_matrix(gradient, last), slopes)
    gate_last(error, given, shape.kind, bias(gradient, last - 1), outmost)
    for layer in range(last - 1, 0, -1):
        given = hidden(shape, units, layer - 1, batch)[first:]
        if not (is_rectified(shape, layer) and has_weighed(layer, error, given, space, gradient)):
            np.dot(given.T, error, matrix(gradient, layer))
        further = space.errors[(last - layer) % 2, : given.size].reshape(given.shape)
        if not (is_rectified(shape, layer) and has_sunk(weights, layer, error, given, space, further, gradient)):
            np.dot(error, turned(weights, layer, shape.widths[layer], space.matrix), further)
            gate(further, given, shape.kind, bias(gradient, layer - 1))
        error = further
    if not (shape.kind == RELU and has_weighed_features(rows[first:], error, space, gradient)):
        np.dot(rows[first:].T, error, matrix(gradient, 0))


@loop
def total(values: FloatArray) -> float:
    found = 0.0
    for b in range(values.size):
        found += values[b]
    return found


@loop
def rises_live(shape: Shape, layer: int, batch: int) -> bool:
    """Whether zeros are left out on the way forward: before the first layer there are none, and few rows are not worth it."""
    return layer > 0 and batch >= LEAST and is_rectified(shape, layer)


@loop
def is_rectified(shape: Shape, layer: int) -> bool:
    """Whether zeros can be left out between the units before a layer, which are hidden, and those after it."""
    return shape.kind == RELU and max(shape.widths[layer], shape.widths[layer + 1]) <= LONGEST


@kernel
def has_risen(weights: MemberPart, layer: int, given: FloatArray, space: Space, reached: FloatArray) -> bool:
    """The units after a layer, where few of those before it are not 0; if not, nothing."""
    if not mark(given, space.marks):
        return False
    before, after = weights.shape.widths[layer], weights.shape.widths[layer + 1]
    values, shift, step = flat_matrix(weights, layer), bias(weights, layer), padded_at(after)
    for i in range(before):
        for k in range(after):
            space.matrix[i * step + k] = values[i * after + k]
    for k in range(after):
        space.matrix[before * step + k] = shift[k]
    raise_live(given, space.marks, space.matrix, step, reached)
    return True


@kernel
def has_weighed(layer: int, error: FloatArray, given: FloatArray, space: Space, gradient: MemberPart) -> bool:
    """The gradient of a layer's matrix, where few of the units before it are not 0; if not, nothing."""
    batch, width = given.shape
    if not LEAST <= batch <= BITS:
        return False
    by_unit = space.matrix[: width * batch].reshape((width, batch))
    turn(given, by_unit)
    if not mark(by_unit, space.marks):
        return False
    weigh_live(by_unit, space.marks, error, flat_matrix(gradient, layer), space.matrix[width * batch :])
    return True


@kernel
def has_weighed_features(rows: FloatArray, error: FloatArray, space: Space, gradient: MemberPart) -> bool:
    """The gradient of the first matrix, where few errors are not 0; if not, nothing. It comes turned, in pieces."""
    (batch, width), d = error.shape, rows.shape[1]
    length = covering_at(d)
    if length == 0 or width > LONGEST or not LEAST <= batch <= BITS:
        return False
    by_unit = space.matrix[: width * batch].reshape((width, batch))
    turn(error, by_unit)
    if not mark(by_unit, space.marks):
        return False
    pieces = space.matrix[width * batch : width * (batch + length)].reshape((width, length))
    for start in range(0, d, length):
        begin = min(start, d - length)
        weigh_pieces(by_unit, space.marks, rows, begin, pieces)
        turn(pieces, matrix(gradient, 0)[begin : begin + length])
    return True


@kernel
def has_sunk(
    weights: MemberPart,
    layer: int,
    error: FloatArray,
    given: FloatArray,
    space: Space,
    further: FloatArray,
    gradient: MemberPart,
) -> bool:
    """The errors before a layer, and their totals, where few of those after it are not 0; if not, nothing."""
    if not mark(error, space.marks):
        return False
    by = turned(weights, layer, padded_at(given.shape[1]), space.matrix)
    totals, sums = space.matrix[by.size : by.size + by.shape[1]], bias(gradient, layer - 1)
    send_live(error, space.marks, space.matrix, by.shape[1], given, further, totals)
    for i in range(sums.size):
        sums[i] = totals[i]
    return True


@loop
def turned(weights: MemberPart, layer: int, step: int, room: FloatArray) -> FloatArray:
    """A layer's matrix, turned: [out, in], in rows of `step`."""
    after = weights.shape.widths[layer + 1]
    by = room[: after * step].reshape((after, step))
    turn(matrix(weights, layer), by)
    return by


@loop
def turn(values: FloatArray, turned: FloatArray) -> None:
    """A matrix, copied to rows of that length or longer: BLAS takes half as long again for one that is only seen as turned."""
    (rows, columns), step = values.shape, turned.shape[1]
    for i in range(0, rows - rows % 4, 4):
        for k in range(0, columns - columns % 4, 4):
            turn_square(values, i * columns + k, columns, turned, k * step + i, step)
        for k in range(columns - columns % 4, columns):
            for b in range(i, i + 4):
                turned[k, b] = values[b, k]
    for i in range(rows - rows % 4, rows):
        for k in range(columns):
            turned[k, i] = values[i, k]
