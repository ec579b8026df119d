"""Products that leave zeros out, against NumPy's."""

import numpy as np
import pytest

from ensample.kernels.compile import kernel
from ensample.kernels.live import BITS, LONGEST, SPARE, covering, mark, padded, raise_live, registered, send_live, weigh_live

SIZES = [(1, 1), (2, 1), (50, 1), (50, 3), (50, 7), (3, 8), (50, 50), (64, 64), (17, 40), (63, 9), (9, 33)]
GUARD = [float(k) for k in range(64)]


@kernel
def marked(values: np.ndarray, marks: np.ndarray) -> bool:
    return mark(values, marks)


@kernel
def raised(given: np.ndarray, marks: np.ndarray, by: np.ndarray, reached: np.ndarray) -> None:
    mark(given, marks)
    raise_live(given, marks, by, by.shape[1], reached)


@kernel
def sent(
    errors: np.ndarray, marks: np.ndarray, by: np.ndarray, given: np.ndarray, further: np.ndarray, totals: np.ndarray
) -> None:
    mark(errors, marks)
    send_live(errors, marks, by, by.shape[1], given, further, totals)


@kernel
def weighed(given: np.ndarray, marks: np.ndarray, errors: np.ndarray, out: np.ndarray, spare: np.ndarray) -> None:
    mark(given, marks)
    weigh_live(given, marks, errors, out, spare)


def roomy(values: np.ndarray) -> np.ndarray:
    """The same, with room after it that holds no numbers, and then some that nobody may write to."""
    room = np.full(values.size + SPARE + len(GUARD), np.nan)
    room[: values.size], room[-len(GUARD) :] = values.ravel(), GUARD
    return room[: values.size].reshape(values.shape)


def guarded(values: np.ndarray) -> bool:
    """Whether nobody has."""
    room = values if values.base is None else values.base
    return room[-len(GUARD) :].tolist() == GUARD


def half(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return roomy(np.maximum(rng.standard_normal(shape), 0.0))


@pytest.mark.parametrize(("h", "d"), SIZES)
@pytest.mark.parametrize("rows", [1, 6])
def test_zeros_may_be_left_out(rows: int, h: int, d: int) -> None:
    rng = np.random.default_rng(h)
    given, marks = half(rng, rows, h), np.zeros(rows, np.uint64)
    by = rng.standard_normal((h + 1, padded(d)))
    reached = roomy(np.empty((rows, d)))
    raised(given, marks, by, reached)
    np.testing.assert_allclose(reached, np.maximum(given @ by[:h, :d] + by[h, :d], 0.0), rtol=1e-12, atol=1e-13)
    units, further, totals = half(rng, rows, d), roomy(np.empty((rows, d))), np.full(padded(d), np.nan)
    sent(given, marks, by[:h], units, further, totals)
    expected = np.where(units > 0.0, given @ by[:h, :d], 0.0)
    np.testing.assert_allclose(further, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(totals[:d], expected.sum(axis=0), rtol=1e-12, atol=1e-13)
    assert all(guarded(values) for values in (given, reached, units, further))


@pytest.mark.parametrize(("h", "d"), SIZES)
@pytest.mark.parametrize("rows", [1, 40, 64])
def test_gradients_may_leave_them_out(rows: int, h: int, d: int) -> None:
    """Numbers after the gradient belong to somebody else."""
    rng = np.random.default_rng(h)
    given, errors, marks = half(rng, h, rows), half(rng, rows, d), np.zeros(h, np.uint64)
    room = np.full(h * d + 2 * SPARE, 7.0)
    weighed(given, marks, errors, room[: h * d], np.empty(padded(d)))
    np.testing.assert_allclose(room[: h * d].reshape(h, d), given @ errors, rtol=1e-12, atol=1e-13)
    assert (room[h * d :] == 7.0).all() and guarded(given) and guarded(errors)


def test_pieces_cover_a_row() -> None:
    """Of fifty-six the sums stay in the registers of AVX2; a row that only long overlaps would cover is left to BLAS."""
    for width in range(1, 300):
        length = covering(width)
        assert length <= min(width, LONGEST) and -(-width // (length or width)) * length <= 1.25 * width
    if LONGEST:
        assert covering(100) == 56 and covering(16) == 16 and covering(20) == covering(15) == 0


def test_a_row_is_no_longer_than_registers_have_room_for() -> None:
    """Eight numbers a register and 32 of them, or four and 16; one is for a number, and some are left for addresses."""
    intel, arm = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
    assert registered((intel, "znver4", "+fma,+avx2,+avx512f")) == 64 and registered((intel, "znver3", "+fma,+avx2")) == 56
    assert registered((intel, "ivybridge", "+avx")) == registered((intel, "odd", "+avx2")) == 0, "without fused sums"
    assert registered((arm, "generic", "+neon")) == registered(()) == 0


def test_rows_are_padded_to_the_next_length() -> None:
    assert [padded(width) for width in (1, 16, 17, 50, 56, 57, 64, 65, 1000)] == [16, 16, 32, 56, 56, 64, 64, 65, 1000]
    assert max(padded(width) - width for width in range(8, BITS + 1)) <= SPARE >= padded(1) - 1


@pytest.mark.parametrize("h", [1, 7, 8, 50, 63, 64])
def test_marks_are_where_numbers_are_not_0(h: int) -> None:
    rng = np.random.default_rng(h)
    for share in (0.0, 0.3, 0.9, 1.0):
        values, marks = np.where(rng.random((5, h)) < share, rng.standard_normal((5, h)), 0.0), np.zeros(5, np.uint64)
        values[2, -1] = np.nan
        few = marked(roomy(values), marks)
        assert marks.tolist() == [sum(1 << k for k in range(h) if row[k] != 0.0) for row in values.tolist()]
        assert few == (np.count_nonzero(values) <= 0.6 * values.size)
