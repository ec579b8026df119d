"""Kernels that are called now and then: interpreted, until that has taken about as long as compiling them would.

A policy computes V^-1 anew, or its scales, in thirty of its first thousand rounds. That takes milliseconds in Python and, once
for each installation, seconds to compile: more than everything else that a policy begins with. So Python reads the same
source, with its own floats: bits are the same, and whoever finds machine code on disk uses that.

What is made of lanes, which Python does not have, has a twin here.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from ensample.kernels.exact import SPLITTER
from ensample.kernels.fused import times_plus
from ensample.kernels.machine_code import is_kept, uninterrupted
from ensample.kernels.pairs import add_pair_product, add_row
from ensample.kernels.rows import add_two, axpy, dot
from ensample.types import FloatArray

__all__ = ["Rare", "compiled_at_once", "rare"]

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 3.0  # seconds of interpreting after which a kernel is compiled
LARGEST = 4096  # numbers of an array with which it is compiled at once: V^-1 in 35 dimensions
AT_ONCE: ContextVar[bool] = ContextVar("AT_ONCE", default=False)


def rare(kernel: Function) -> Function:
    """A kernel for Python to call, which seldom has something to do; it changes arrays in place, and returns nothing."""
    return cast(Function, Rare(kernel))


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """In here rare kernels are compiled like all others: for those who wait now, so that nobody waits later."""
    before = AT_ONCE.set(True)
    try:
        yield
    finally:
        AT_ONCE.reset(before)


class Rare:
    """A kernel, and how much longer it may be interpreted in this process."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.__doc__ = kernel.__doc__
        self.seconds_left = PATIENCE

    def __call__(self, *args: Any) -> None:
        if self.seconds_left > 0.0 and self._is_worth_compiling(args):
            self.seconds_left = 0.0
        if self.seconds_left > 0.0:
            self._interpret(args)
        else:
            self.kernel(*args)

    def _is_worth_compiling(self, args: tuple[Any, ...]) -> bool:
        """Whether interpreting would take long, or machine code is there: to look for that takes a while, it is done once."""
        if AT_ONCE.get() or any(np.size(array) > LARGEST for array in args):
            return True
        first = "interpreted" not in vars(self)
        return first and (not hasattr(self.kernel, "py_func") or is_kept(self.kernel, args))

    def _interpret(self, args: tuple[Any, ...]) -> None:
        begun = time.perf_counter()
        try:
            in_place(self.interpreted, args)
        except (ArithmeticError, ValueError):  # a logarithm of 0, say, which Python refuses; nothing has changed
            self.kernel(*args)
        finally:
            self.seconds_left -= time.perf_counter() - begun

    @cached_property
    def interpreted(self) -> Callable[..., None]:
        return interpreted(self.kernel)


def in_place(function: Callable[..., None], args: tuple[Any, ...]) -> None:
    """Let a function of arrays change them, all at once: Ctrl-C comes before it or after it."""
    copies = [array.copy() if isinstance(array, np.ndarray) else array for array in args]
    with np.errstate(all="ignore"):  # as machine code does
        function(*copies)
    with uninterrupted():
        for array, changed in zip(args, copies, strict=True):
            if isinstance(array, np.ndarray):
                array[...] = changed


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A kernel as Python reads it, and with it every kernel that it calls."""
    if id(kernel) in TWINS:
        return TWINS[id(kernel)]
    source = kernel.py_func
    names = dict(source.__globals__)
    for name in source.__code__.co_names:
        if hasattr(names.get(name), "py_func") or id(names.get(name)) in TWINS:
            names[name] = interpreted(names[name])
    return FunctionType(source.__code__, names, source.__name__)


def axpy_in_python(total: FloatArray, weight: float, row: FloatArray) -> None:
    total += weight * row


def add_two_in_python(total: FloatArray, a: float, x: FloatArray, b: float, y: FloatArray) -> None:
    total += a * x
    total += b * y


def dot_in_python(x: FloatArray, y: FloatArray) -> float:
    """In the order of `dot`: four sums over every fourth product, then their sum."""
    products = (x * y).tolist()
    whole = len(products) - len(products) % 4
    sums = [0.0, 0.0, 0.0, 0.0, 0.0]
    for k, product in enumerate(products):
        sums[k % 4 if k < whole else 4] += product
    return float(((sums[0] + sums[1]) + (sums[2] + sums[3])) + sums[4])


def product_error(a: float, b: float, negative: float) -> float:
    """`times_plus` of the negative of a product: by Dekker's halves, or by fractions where these may leave the range."""
    if 1e-250 < abs(negative) < 1e250 and abs(a) < 1e290 and abs(b) < 1e290:
        shifted = SPLITTER * a
        a_high = shifted - (shifted - a)
        a_low = a - a_high
        shifted = SPLITTER * b
        b_high = shifted - (shifted - b)
        b_low = b - b_high
        return ((a_high * b_high + negative) + a_high * b_low + a_low * b_high) + a_low * b_low
    if math.isfinite(negative):
        return float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(negative)))
    return negative if math.isfinite(a) and math.isfinite(b) else math.nan


def add_row_in_python(
    high: FloatArray,
    low: FloatArray,
    i: int,
    weight: float,
    weight_low: float,
    rows: FloatArray,
    rows_low: FloatArray,
    row: int,
    first: int,
    last: int,
) -> None:
    """With Python's floats, which are three times as quick as those of arrays: most of the time is spent here."""
    part = slice(first, last)
    columns = (array[place, part].tolist() for array, place in ((high, i), (low, i), (rows, row), (rows_low, row)))
    weights = float(weight), float(weight_low)
    for k, (one, one_low, other, other_low) in enumerate(zip(*columns, strict=True), first):
        high[i, k], low[i, k] = PAIR_PRODUCT(one, one_low, *weights, other, other_low)


TWINS: dict[int, Callable[..., Any]] = {
    id(axpy): axpy_in_python,
    id(add_two): add_two_in_python,
    id(dot): dot_in_python,
    id(times_plus): product_error,
}
"""By the address of the kernel or operation that each stands for."""

PAIR_PRODUCT = interpreted(add_pair_product)
TWINS[id(add_row)] = add_row_in_python
