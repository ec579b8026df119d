"""How kernels are compiled: no fastmath, the GIL released, machine code kept on disk between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ensample.kernels.machine_code import keep
from ensample.kernels.private import counts_references

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
    """Without the private option where numba does not know it: it would refuse to compile."""
    if not counts_references():
        counting = {name: value for name, value in counting.items() if name != "_nrt"}
    dispatcher = njit(nogil=True, error_model="numpy", **counting)(function)
    if dispatcher is not function:  # NUMBA_DISABLE_JIT
        keep(dispatcher)
    return cast(Function, dispatcher)


def inlined(function: Function) -> Function:
    """Compile a small helper into each kernel that calls it."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))
