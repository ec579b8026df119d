"""The one loop that all others are made of: a weighted sum of rows."""

from ensample.kernels.compile import kernel
from ensample.types import FloatArray, IntArray

__all__ = ["add_rows", "add_some_rows", "argmax"]


@kernel
def add_rows(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """total += sum_i weights[i] rows[i], row after row; four at a time, so that `total` is read and written less often."""
    n = weights.size
    width = total.size
    done = n - n % 4
    for i in range(0, done, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        row_a, row_b, row_c, row_d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(width):
            total[k] = (((total[k] + a * row_a[k]) + b * row_b[k]) + c * row_c[k]) + d * row_d[k]
    for i in range(done, n):
        a, row_a = weights[i], rows[i]
        for k in range(width):
            total[k] += a * row_a[k]


@kernel
def add_some_rows(total: FloatArray, rows: FloatArray, which: IntArray, weights: FloatArray, count: int) -> None:
    """total += sum_i weights[i] rows[which[i]] for i < count, in the order and the way of `add_rows`."""
    width = total.size
    done = count - count % 4
    for i in range(0, done, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        row_a, row_b, row_c, row_d = rows[which[i]], rows[which[i + 1]], rows[which[i + 2]], rows[which[i + 3]]
        for k in range(width):
            total[k] = (((total[k] + a * row_a[k]) + b * row_b[k]) + c * row_c[k]) + d * row_d[k]
    for i in range(done, count):
        a, row_a = weights[i], rows[which[i]]
        for k in range(width):
            total[k] += a * row_a[k]


@kernel
def argmax(scores: FloatArray) -> int:
    """The index of the largest score, the lowest on ties. The maximum comes first, in four independent lanes."""
    done = scores.size - scores.size % 4
    a = b = c = d = scores[0]
    for k in range(0, done, 4):
        a = scores[k] if scores[k] > a else a
        b = scores[k + 1] if scores[k + 1] > b else b
        c = scores[k + 2] if scores[k + 2] > c else c
        d = scores[k + 3] if scores[k + 3] > d else d
    for k in range(done, scores.size):
        a = scores[k] if scores[k] > a else a
    a = b if b > a else a
    c = d if d > c else c
    top = c if c > a else a
    for k in range(scores.size):
        if scores[k] == top:
            return k
    return 0
