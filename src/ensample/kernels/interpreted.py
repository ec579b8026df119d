"""Kernels that are called now and then: interpreted, until that has taken about as long as compiling them would.

A policy computes V^-1 anew, or its scales, in thirty of its first thousand rounds. That takes milliseconds in Python and, once
for each installation, seconds to compile: more than everything else that a policy begins with. So Python reads the same
source, with its own floats: every number has the same bits. Where there is machine code, that is used.

What is made of lanes, which Python does not have, has a twin here.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from ensample.kernels.exact import error_by_halves
from ensample.kernels.fused import times_plus
from ensample.kernels.machine_code import is_kept, note_seconds, seconds_noted
from ensample.kernels.pairs import add_pair_product, add_row
from ensample.kernels.rows import add_two, axpy, dot
from ensample.types import FloatArray

__all__ = ["AT_ONCE", "Rare", "compiled_at_once", "dot_in_python", "rare"]

Function = TypeVar("Function", bound=Callable[..., Any])

SPELL = 0.25  # seconds after which a process notes what it has spent, and looks whether somebody has compiled the kernel
LARGEST = 4096  # numbers of an array with which it is compiled at once: a ridge regression in 35 dimensions
AT_ONCE: ContextVar[bool] = ContextVar("AT_ONCE", default=False)


def rare(worth: float) -> Callable[[Function], Function]:
    """A kernel for Python to call, which seldom has something to do; it changes arrays in place, and returns nothing.

    `worth`: the seconds that it is interpreted before it is compiled, by all processes of an installation together. Where that
    is what compiling takes, nobody waits longer than twice as long as who had known how often it would be called.
    """

    def made(kernel: Function) -> Function:
        return cast(Function, Rare(kernel, worth))

    return made


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """In here rare kernels are compiled like all others: for those who wait now, so that nobody waits later."""
    before = AT_ONCE.set(True)
    try:
        yield
    finally:
        AT_ONCE.reset(before)


class Rare:
    """A kernel, and whether it is still interpreted."""

    def __init__(self, kernel: Any, worth: float) -> None:
        self.kernel, self.worth = kernel, worth
        self.__doc__ = kernel.__doc__
        self.compiles = False
        self.seconds = 0.0  # that this process has interpreted it
        self.next_look = 0.0  # when so many have passed

    def __call__(self, *args: Any) -> None:
        if not self.compiles:
            self._look(args)
        if self.compiles:
            self.kernel(*args)
        else:
            self._interpret(args)

    def _look(self, args: tuple[Any, ...]) -> None:
        """Whether compiling is worth it now, or was done."""
        if AT_ONCE.get() or any(np.size(array) > LARGEST for array in args):
            self.compiles = True
        elif self.seconds >= self.next_look:
            self.next_look = self.seconds + SPELL
            known = not hasattr(self.kernel, "py_func") or is_kept(self.kernel, args)
            self.compiles = known or max(self.seconds, seconds_noted(self.kernel)) >= self.worth

    def _interpret(self, args: tuple[Any, ...]) -> None:
        begun, before = time.perf_counter(), self.next_look - SPELL
        try:
            in_place(self.in_python, args)
        except (ArithmeticError, ValueError):  # a logarithm of 0, say, which Python refuses; nothing has changed
            self.compiles = True
            self.kernel(*args)
            return
        self.seconds += time.perf_counter() - begun
        if self.seconds >= self.next_look:
            note_seconds(self.kernel, self.seconds - before)

    @cached_property
    def in_python(self) -> Callable[..., None]:
        return read_by_python(self.kernel)


def in_place(function: Callable[..., None], args: tuple[Any, ...]) -> None:
    """Let a function of arrays change them, all at once: Ctrl-C, or whatever a signal raises, comes before it or after it."""
    arrays = [value for value in args if isinstance(value, np.ndarray)]
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    with np.errstate(all="ignore"):  # as machine code does
        function(*copies)
    changed = [value for value in copies if isinstance(value, np.ndarray)]
    deque(map(np.ndarray.__setitem__, arrays, repeat(...), changed), maxlen=0)  # in one step of the interpreter


def read_by_python(kernel: Any) -> Callable[..., Any]:
    """A kernel as plain Python, and with it every kernel that it calls."""
    if kernel in TWINS:
        return TWINS[kernel]
    source = getattr(kernel, "py_func", kernel)  # it is its own where numba is told not to compile
    names = dict(source.__globals__)
    for name in source.__code__.co_names:
        value = names.get(name)
        if hasattr(value, "py_func") or (isinstance(value, Hashable) and value in TWINS):
            names[name] = read_by_python(value)
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)


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
    """`times_plus` of the negative of a product: by halves, or by fractions where these may leave the range."""
    if negative == 0.0 and (a == 0.0 or b == 0.0):
        return 0.0
    if 1e-250 < abs(negative) < 1e250 and abs(a) < 1e290 and abs(b) < 1e290:
        return BY_HALVES(a, b, -negative)
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


TWINS: dict[Any, Callable[..., Any]] = {
    axpy: axpy_in_python,
    add_two: add_two_in_python,
    dot: dot_in_python,
    times_plus: product_error,
    add_row: add_row_in_python,
}
"""By the kernel or operation that each stands for."""

BY_HALVES, PAIR_PRODUCT = read_by_python(error_by_halves), read_by_python(add_pair_product)
