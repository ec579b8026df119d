"""Fused or not, sums and products of pairs have the same bits."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from ensample.kernels.exact import add_product, add_square, two_product
from ensample.kernels.fused import FUSED, fuses

SCRIPT = """
import sys
import numpy as np
from numba import njit
from ensample.kernels.exact import add_square
from ensample.kernels.fused import FUSED
from kernels.test_fused import vectors

@njit
def add(high, low, x):
    add_square(high, low, x)

out = [str(FUSED)]
for d in (5, 20):
    high, low = np.zeros((d, d)), np.zeros((d, d))
    for x in vectors(d):
        add(high, low, x)
    out.append(high.tobytes().hex() + low.tobytes().hex())
print(" ".join(out))
"""


def vectors(dim: int) -> np.ndarray:
    """Of all sizes: [40, d]."""
    rng = np.random.default_rng(dim)
    return rng.standard_normal((40, dim)) * 10.0 ** rng.integers(-6, 7, (40, dim))


def run(**environment: str) -> list[str]:
    paths = os.pathsep.join(["tests", *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": paths} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_machine_that_cannot_fuse_computes_the_same_bits() -> None:
    here, plain = run(), run(NUMBA_CPU_NAME="generic")
    assert here[0] == str(FUSED) and plain[0] == "False" and here[1:] == plain[1:]


def test_a_product_and_its_error_are_exact() -> None:
    @njit
    def product(a: float, b: float) -> tuple[float, float]:
        return two_product(a, b)

    for a, b in vectors(2):
        high, low = product(a, b)
        assert high == a * b and Fraction(high) + Fraction(low) == Fraction(a) * Fraction(b)


@njit
def both(high, low, slow, slow_low, x):
    add_square(high, low, x)
    for i in range(x.size):
        for k in range(x.size):
            slow[i, k], slow_low[i, k] = add_product(slow[i, k], slow_low[i, k], x[i], x[k])


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6, 7, 8, 12, 13, 20, 33])
def test_squares_are_added_element_by_element(dim: int) -> None:
    high, low, slow, slow_low = np.zeros((4, dim, dim))
    for x in vectors(dim):
        both(high, low, slow, slow_low, x)
    assert high.tobytes() == slow.tobytes() and low.tobytes() == slow_low.tobytes() and low.any()


def test_which_machines_fuse() -> None:
    assert fuses(("x86_64-unknown-linux-gnu", "znver4", "+avx2,+fma,+sse2"))
    assert fuses(("arm64-apple-darwin23", "apple-m1", ""))
    assert not fuses(("x86_64-unknown-linux-gnu", "generic", "")) and not fuses(())
    assert not fuses(("x86_64-unknown-linux-gnu", "bdver1", "+fma4,-fma"))
