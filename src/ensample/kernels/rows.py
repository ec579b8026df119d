"""The one loop that all others are made of: a weighted sum of rows."""

from ensample.kernels.compile import kernel
from ensample.types import FloatArray

__all__ = ["add_rows", "argmax"]


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
def argmax(scores: FloatArray) -> int:
    """The index of the largest score, the lowest on ties."""
    best, top = 0, scores[0]
    for k in range(1, scores.size):
        if scores[k] > top:
            best, top = k, scores[k]
    return best
