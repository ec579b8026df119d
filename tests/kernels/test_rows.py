"""Loops in lanes against loops in Python: the same bits at every width, whatever is left over after the last tile."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from ensample.kernels import rows as kernel
from ensample.kernels.compile import kernel as compiled
from ensample.kernels.lanes import BLOCK, lowest, unequal
from ensample.kernels.ridge import root
from ensample.kernels.track import aligned

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 11, 16, 20, 31, 32, 33, 63, 64, 100, 127)


def numbers(width: int, count: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A total, rows and weights."""
    rng = np.random.default_rng(width)
    return rng.standard_normal(width), rng.standard_normal((count, width)), rng.standard_normal(count)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_added_in_order(width: int) -> None:
    start, rows, weights = numbers(width)
    which = np.array([4, 0, 0, 5, 1, 2])
    added, some, summed = start.copy(), start.copy(), np.zeros(width)
    for i in range(6):
        added += weights[i] * rows[i]
        summed += weights[i] * rows[i]
    for i in range(5):
        some += weights[i] * rows[which[i]]
    totals = [start.copy() for _ in range(3)]
    kernel.add_rows(totals[0], rows, weights)
    kernel.sum_rows(totals[1], rows, weights)
    kernel.add_some_rows(totals[2], rows, which, weights, 5)
    for total, expected in zip(totals, (added, summed, some), strict=True):
        np.testing.assert_array_equal(total, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_outer_axpy_and_dot(width: int) -> None:
    right, matrix, left = numbers(width)
    total, expected = matrix[0].copy(), matrix[0] + 0.3 * right
    kernel.axpy(total, 0.3, right)
    np.testing.assert_array_equal(total, expected)
    both = matrix[1].copy()
    kernel.add_two(both, 0.3, right, -1.7, matrix[2])
    np.testing.assert_array_equal(both, (matrix[1] + 0.3 * right) + -1.7 * matrix[2])
    expected = matrix + (-0.7 * left)[:, None] * right
    kernel.add_outer(matrix, -0.7, left, right)
    np.testing.assert_array_equal(matrix, expected)
    assert kernel.dot(total, right) == pytest.approx(total @ right, rel=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
def test_argmax_takes_the_lowest_of_equal_scores(width: int) -> None:
    rng = np.random.default_rng(width)
    for spread in (1, 2, 5, 1000):
        scores = rng.integers(-spread, spread, width).astype(np.float64)
        assert kernel.argmax(scores) == scores.argmax()
    assert kernel.argmax(np.full(width, -np.inf)) == 0


@compiled
def differences(counts: np.ndarray, others: np.ndarray) -> list:
    found = [0 for _ in range(0)]
    for start in range(0, counts.size, BLOCK):
        bits = unequal(counts, others, start)
        while bits != 0:
            found.append(start + lowest(bits))
            bits &= bits - np.uint64(1)
    return found


def test_counts_that_differ_are_found_in_order() -> None:
    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.5, 1.0):
        counts = rng.integers(0, 2**31, 5 * BLOCK).astype(np.int32)
        others = np.where(rng.random(counts.size) < share, counts - 1, counts).astype(np.int32)
        assert list(differences(counts, others)) == np.flatnonzero(counts != others).tolist()


def test_root_of_a_singular_matrix() -> None:
    X = np.random.default_rng(0).standard_normal((9, 7))
    X[:, 3] = 2.0 * X[:, 1]
    matrix = X.T @ X
    factor = matrix.copy()
    root(factor)
    np.testing.assert_allclose(factor.T @ factor, matrix, atol=1e-12)
    assert (np.tril(factor, -1) == 0.0).all() and (factor[3] == 0.0).all()


def test_aligned_arrays_begin_with_a_cache_line() -> None:
    arrays = aligned((3, 5), (1,), (20, 20))
    for array in arrays:
        assert array.ctypes.data % 64 == 0 and array.flags.c_contiguous and not array.any()
        array += 1.0
    assert [array.sum() for array in arrays] == [15.0, 1.0, 400.0]


def test_arrays_that_are_not_in_a_row_are_refused() -> None:
    """Their elements would be taken for those beside them, in silence."""
    total, table = np.zeros(8), np.ones((5, 8))
    for weights in (np.arange(10.0)[::2], np.arange(5)):
        with pytest.raises(TypingError, match="expected a contiguous array of double"):
            kernel.sum_rows(total, table, weights)
    assert not total.any()
