"""The loops that all others are made of: weighted sums of rows, and the largest of some scores.

Rows are handled in tiles of columns (`tiles`): every column adds up its rows in order.
"""

from ensample.kernels.compile import embedded, loop
from ensample.kernels.lanes import equal_to, lanes_of, larger, load, plus_times, single, store
from ensample.kernels.tiles import add_outer_tiles, weigh_some_tiles, weigh_tiles
from ensample.types import FloatArray, IntArray

__all__ = ["add_outer", "add_rows", "add_some_rows", "add_two", "argmax", "axpy", "dot", "sum_rows", "write"]


@loop
def add_rows(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """total += sum_i weights[i] rows[i], row after row."""
    weigh_tiles(total, rows, weights, True)


@loop
def sum_rows(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """total = sum_i weights[i] rows[i], row after row."""
    weigh_tiles(total, rows, weights, False)


@loop
def add_some_rows(total: FloatArray, rows: FloatArray, which: IntArray, weights: FloatArray, count: int) -> None:
    """total += sum_i weights[i] rows[which[i]] for i < count, in the order of `add_rows`."""
    weigh_some_tiles(total, rows, which, weights, count)


@loop
def add_outer(matrix: FloatArray, weight: float, left: FloatArray, right: FloatArray) -> None:
    """matrix += (weight left) right'."""
    add_outer_tiles(matrix, weight, left, right)


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
def add_two(total: FloatArray, a: float, x: FloatArray, b: float, y: FloatArray) -> None:
    """total += a x, and then b y."""
    whole = total.size - total.size % 4
    for k in range(0, whole, 4):
        lanes = plus_times(load(lanes_of(0.0, 4), total, k), a, load(lanes_of(0.0, 4), x, k))
        store(plus_times(lanes, b, load(lanes, y, k)), total, k)
    for k in range(whole, total.size):
        total[k] = (total[k] + a * x[k]) + b * y[k]


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
