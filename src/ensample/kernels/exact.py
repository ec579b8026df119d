"""Sums and products of doubles without rounding error: a pair (high, low) stands for high + low.

Without fastmath these identities hold on every IEEE machine. They keep the Gram matrix of a million rounds to
32 digits, so that solving with it loses nothing to accumulation.

References: T. J. Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 18
(1971); D. E. Knuth, The Art of Computer Programming, vol. 2, section 4.2.2.
"""

from ensample.kernels.compile import embedded
from ensample.kernels.fused import FUSED, times_plus
from ensample.kernels.tiles import add_square_tiles
from ensample.types import FloatArray

__all__ = ["add_product", "add_square", "error_by_halves", "two_product", "two_sum"]

SPLITTER = 134217729.0  # 2^27 + 1 cuts a double into halves of 26 bits


@embedded
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b = total + error, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@embedded
def two_product(a: float, b: float) -> tuple[float, float]:
    """a * b = product + error, exactly (while nothing over- or underflows). Both ways give the same bits."""
    product = a * b
    if FUSED:
        return product, times_plus(a, b, -product)
    return product, error_by_halves(a, b, product)


@embedded
def error_by_halves(a: float, b: float, product: float) -> float:
    """a * b - product, exactly, where the product is that of doubles (Dekker)."""
    shifted = SPLITTER * a
    a_high = shifted - (shifted - a)
    a_low = a - a_high
    shifted = SPLITTER * b
    b_high = shifted - (shifted - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@embedded
def add_product(high: float, low: float, a: float, b: float) -> tuple[float, float]:
    """(high, low) + a * b, to twice the digits of a double."""
    product, product_error = two_product(a, b)
    total, total_error = two_sum(high, product)
    total_error += low + product_error
    high = total + total_error
    return high, total_error - (high - total)


@embedded
def add_square(high: FloatArray, low: FloatArray, x: FloatArray) -> None:
    """(high, low) += x x', to twice the digits of a double: [d, d]."""
    if FUSED:
        add_square_tiles(high, low, x)
        return
    for i in range(x.size):
        for j in range(x.size):
            high[i, j], low[i, j] = add_product(high[i, j], low[i, j], x[i], x[j])
