"""How kernels are compiled: no fastmath, the GIL released, machine code kept on disk between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["borrowing", "embedded", "inlined", "kernel", "loop"]

Function = TypeVar("Function", bound=Callable[..., Any])
COUNTING: dict[str, Any] = {"_nrt": True}  # of references; private to numba, so its types do not know it
BORROWING: dict[str, Any] = {"_nrt": False}


def kernel(function: Function) -> Function:
    """Compile a function of arrays and numbers on its first call."""
    return compiled(function, COUNTING)


def borrowing(function: Function) -> Function:
    """Compile a function that kernels lend arrays to: it allocates nothing and returns no array.

    Numba counts references with atomic operations, two for each array of a NamedTuple and call: a quarter of a round's time.
    Here it counts none. Call these from kernels only: from Python, numba would never let go of a Generator. One that allocates
    does not compile; the private option `_nrt` is inherited by what is compiled on the way, hence its value in `kernel`.
    """
    return compiled(function, BORROWING)


def embedded(function: Function) -> Function:
    """Compile a function that kernels lend arrays to into each of its callers.

    A call would copy every array's seven words, a `World` and a `Track` a hundred of them, and take as long as a short loop.
    """
    return compiled(function, {**BORROWING, "forceinline": True})


def loop(function: Function) -> Function:
    """Compile a short loop over arrays into each kernel that calls it; Python may call it too."""
    return compiled(function, {**COUNTING, "forceinline": True})


def compiled(function: Function, counting: dict[str, Any]) -> Function:
    """Kept on disk where numba finds a folder it may write to; without the private option where numba has dropped it."""
    for options in ({"cache": True, **counting}, counting, {"cache": True}):
        try:
            return cast(Function, njit(nogil=True, error_model="numpy", **options)(function))
        except (KeyError, RuntimeError):
            continue
    return cast(Function, njit(nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile a small helper into each kernel that calls it."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))
