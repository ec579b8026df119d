"""The loops that all others are made of: weighted sums of rows, and the largest of some scores.

Rows are handled in tiles of 32 columns, whose sums stay in registers (`lanes`) while all rows go by; what is left over comes
first, so that it is done while the tiles are. Every column adds up its rows in order.
"""

from typing import Any

from ensample.kernels.compile import embedded, inlined, loop
from ensample.kernels.lanes import equal_to, lanes_of, larger, load, plus_times, single, store
from ensample.types import FloatArray, IntArray

__all__ = ["add_outer", "add_rows", "add_some_rows", "argmax", "axpy", "dot", "sum_rows", "write"]


@inlined
def tile(total: FloatArray, rows: FloatArray, weights: FloatArray, k: int, lanes: Any, keep: bool) -> None:
    if keep:
        lanes = load(lanes, total, k)
    for i in range(weights.size):
        lanes = plus_times(lanes, weights[i], load(lanes, rows, i * total.size + k))
    store(lanes, total, k)


@loop
def weigh_rows(total: FloatArray, rows: FloatArray, weights: FloatArray, keep: bool) -> None:
    k = 0
    while k < total.size % 4:
        tile(total, rows, weights, k, lanes_of(0.0, 1), keep)
        k += 1
    if total.size & 4:
        tile(total, rows, weights, k, lanes_of(0.0, 4), keep)
        k += 4
    if total.size & 8:
        tile(total, rows, weights, k, lanes_of(0.0, 8), keep)
        k += 8
    if total.size & 16:
        tile(total, rows, weights, k, lanes_of(0.0, 16), keep)
        k += 16
    while k < total.size:
        tile(total, rows, weights, k, lanes_of(0.0, 32), keep)
        k += 32


@loop
def add_rows(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """total += sum_i weights[i] rows[i], row after row."""
    weigh_rows(total, rows, weights, True)


@loop
def sum_rows(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """total = sum_i weights[i] rows[i], row after row."""
    weigh_rows(total, rows, weights, False)


@inlined
def some_tile(
    total: FloatArray, rows: FloatArray, which: IntArray, weights: FloatArray, count: int, k: int, lanes: Any
) -> None:
    lanes = load(lanes, total, k)
    for i in range(count):
        lanes = plus_times(lanes, weights[i], load(lanes, rows, which[i] * total.size + k))
    store(lanes, total, k)


@loop
def add_some_rows(total: FloatArray, rows: FloatArray, which: IntArray, weights: FloatArray, count: int) -> None:
    """total += sum_i weights[i] rows[which[i]] for i < count, in the order of `add_rows`."""
    k = 0
    while k < total.size % 4:
        some_tile(total, rows, which, weights, count, k, lanes_of(0.0, 1))
        k += 1
    if total.size & 4:
        some_tile(total, rows, which, weights, count, k, lanes_of(0.0, 4))
        k += 4
    if total.size & 8:
        some_tile(total, rows, which, weights, count, k, lanes_of(0.0, 8))
        k += 8
    while k < total.size:
        some_tile(total, rows, which, weights, count, k, lanes_of(0.0, 16))
        k += 16


@inlined
def outer_tile(matrix: FloatArray, weight: float, left: FloatArray, right: FloatArray, k: int, lanes: Any) -> None:
    lanes = load(lanes, right, k)
    for i in range(left.size):
        place = i * right.size + k
        store(plus_times(load(lanes, matrix, place), weight * left[i], lanes), matrix, place)


@loop
def add_outer(matrix: FloatArray, weight: float, left: FloatArray, right: FloatArray) -> None:
    """matrix += (weight left) right'."""
    k = 0
    while k < right.size % 4:
        outer_tile(matrix, weight, left, right, k, lanes_of(0.0, 1))
        k += 1
    if right.size & 4:
        outer_tile(matrix, weight, left, right, k, lanes_of(0.0, 4))
        k += 4
    if right.size & 8:
        outer_tile(matrix, weight, left, right, k, lanes_of(0.0, 8))
        k += 8
    while k < right.size:
        outer_tile(matrix, weight, left, right, k, lanes_of(0.0, 16))
        k += 16


@loop
def write(target: FloatArray, values: FloatArray) -> None:
    """target[: n] = values for n values, unchecked: numba's checks would compile the words of an error into every caller."""
    for k in range(values.size):
        target[k] = values[k]


@loop
def axpy(total: FloatArray, weight: float, row: FloatArray) -> None:
    """total += weight row."""
    whole = total.size - total.size % 4
    for k in range(0, whole, 4):
        store(plus_times(load(lanes_of(0.0, 4), total, k), weight, load(lanes_of(0.0, 4), row, k)), total, k)
    for k in range(whole, total.size):
        total[k] += weight * row[k]


@loop
def dot(x: FloatArray, y: FloatArray) -> float:
    """x'y: four sums over every fourth product, then their sum."""
    whole = x.size - x.size % 4
    lanes = lanes_of(0.0, 4)
    for k in range(0, whole, 4):
        lanes = plus_times(lanes, load(lanes, x, k), load(lanes, y, k))
    rest = 0.0
    for k in range(whole, x.size):
        rest += x[k] * y[k]
    return ((single(lanes, 0) + single(lanes, 1)) + (single(lanes, 2) + single(lanes, 3))) + rest


@loop
def argmax(scores: FloatArray) -> int:
    """The index of the largest score, the lowest on ties. The maximum comes first, then where it is."""
    whole = scores.size - scores.size % 8
    lanes = lanes_of(scores[0], 8)
    for k in range(0, whole, 8):
        lanes = larger(lanes, load(lanes, scores, k))
    a, b = max_of(single(lanes, 0), single(lanes, 1)), max_of(single(lanes, 2), single(lanes, 3))
    c, d = max_of(single(lanes, 4), single(lanes, 5)), max_of(single(lanes, 6), single(lanes, 7))
    top = max_of(max_of(a, b), max_of(c, d))
    for k in range(whole, scores.size):
        top = max_of(top, scores[k])
    for k in range(0, whole, 8):
        if equal_to(load(lanes, scores, k), top) != 0:
            return first_of(scores, top, k)
    return first_of(scores, top, whole)


@embedded
def max_of(a: float, b: float) -> float:
    return b if b > a else a


@embedded
def first_of(scores: FloatArray, top: float, start: int) -> int:
    for k in range(start, scores.size):
        if scores[k] == top:
            return k
    return 0
