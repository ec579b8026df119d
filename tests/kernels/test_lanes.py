"""What lanes do, against NumPy; and the activations of networks that are made of them."""

import numpy as np
import pytest

from ensample.kernels import networks as kernel
from ensample.kernels.compile import kernel as compiled
from ensample.kernels.fused import FUSED, plus_fused
from ensample.kernels.lanes import lanes_of, load, minus, over_root, store, times, where_positive

WIDTHS = [1, 3, 4, 15, 16, 17, 36, 50]
SLOPES = {kernel.RELU: 0.0, kernel.LEAKY: 0.01}


@compiled
def each(a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """Operations of three arrays [8], a row of `out` [6, 8] for each."""
    x, y, z = load(lanes_of(0.0, 8), a, 0), load(lanes_of(0.0, 8), b, 0), load(lanes_of(0.0, 8), c, 0)
    store(minus(x, y), out, 0)
    store(times(x, 0.3), out, 8)
    store(times(x, y), out, 16)
    store(where_positive(x, y, z), out, 24)
    store(plus_fused(x, y, z), out, 32)
    store(plus_fused(x, 0.3, z), out, 40)


def test_lanes_do_what_numpy_does() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 8))
    a[:3] = 0.0, -0.0, np.nan
    out = np.empty((6, 8))
    each(a, b, c, out)
    np.testing.assert_array_equal(out[:4], [a - b, 0.3 * a, a * b, np.where(a > 0.0, b, c)])
    np.testing.assert_allclose(out[4:], [a + b * c, a + 0.3 * c], rtol=1e-14)


def test_a_product_is_rounded_once_where_the_machine_can() -> None:
    """1 - (1 + e)(1 - e) = e^2, which is lost where the product is rounded first."""
    e, out = 2.0**-30, np.empty((6, 8))
    each(np.full(8, -1.0), np.full(8, 1.0 + e), np.full(8, 1.0 - e), out)
    np.testing.assert_array_equal(out[4], -e * e if FUSED else 0.0)


@compiled
def ratios(over: np.ndarray, squares: np.ndarray, shift: float, out: np.ndarray) -> None:
    for k in range(0, out.size - 1, 8):
        store(over_root(load(lanes_of(0.0, 8), over, k), load(lanes_of(0.0, 8), squares, k), shift), out, k)
    last = out.size - 1
    store(over_root(load(lanes_of(0.0, 1), over, last), load(lanes_of(0.0, 1), squares, last), shift), out, last)


def test_quotients_by_roots_have_the_bits_of_single_precision() -> None:
    rng = np.random.default_rng(1)
    size = 8 * 500 + 1
    over = rng.standard_normal(size) * 10.0 ** rng.uniform(-20, 18, size)
    squares = 10.0 ** rng.uniform(-50, 36, size)
    squares[:4] = 0.0, 1e-320, 1e36, 1e-45
    out = np.empty(size)
    ratios(over, squares, 1e-8, out)
    top, root = over.astype(np.float32), np.sqrt(squares.astype(np.float32))
    np.testing.assert_array_equal(out, top / (root + np.float32(1e-8)))
    np.testing.assert_allclose(out, over / (np.sqrt(squares) + 1e-8), rtol=4e-7)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [kernel.RELU, kernel.LEAKY, kernel.TANH])
def test_units_and_errors_go_through_activations(kind: int, width: int) -> None:
    rng = np.random.default_rng(width)
    units, errors = rng.standard_normal((2, 7, width))
    shift, weights, slopes = rng.standard_normal(width), rng.standard_normal(width), rng.standard_normal(7)
    u, total, gradient = units + shift, np.empty(width), np.empty(width)
    given = np.tanh(u) if kind == kernel.TANH else np.where(u > 0.0, u, SLOPES[kind] * u)
    slope = 1.0 - given**2 if kind == kernel.TANH else np.where(u > 0.0, 1.0, SLOPES[kind])
    kernel.activate(units, shift, kind)
    np.testing.assert_allclose(units, given, rtol=1e-14)
    expected = errors * slope
    kernel.gate(errors, units, kind, total)
    np.testing.assert_allclose(errors, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(total, expected.sum(axis=0), rtol=1e-12, atol=1e-14)
    expected = np.outer(slopes, weights) * slope
    kernel.gate_last(errors, units, kind, total, kernel.Last(weights, gradient, slopes))
    np.testing.assert_allclose(errors, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(total, expected.sum(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gradient, slopes @ units, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [kernel.RELU, kernel.LEAKY, kernel.TANH])
def test_units_that_are_no_numbers_stay_so(kind: int) -> None:
    units = np.zeros((2, 21))
    units[1, 3] = units[0, 20] = np.nan
    kernel.activate(units, np.ones(21), kind)
    assert np.argwhere(np.isnan(units)).tolist() == [[0, 20], [1, 3]]
