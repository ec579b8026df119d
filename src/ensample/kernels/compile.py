"""How kernels are compiled: no fastmath, the GIL released, machine code kept on disk between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["inlined", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and numbers on its first call."""
    try:
        return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # numba finds no folder that it may write to: compile in every process
        return cast(Function, njit(nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile a small helper into each kernel that calls it."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))
