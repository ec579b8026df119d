"""How kernels are compiled: no fastmath, the GIL released, machine code kept on disk between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ensample.kernels.machine_code import keep
from ensample.kernels.private import counts_references, drafts

__all__ = ["borrowing", "embedded", "inlined", "kernel", "loop"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and numbers on its first call."""
    return compiled(function, counting=True, inline=False)


def borrowing(function: Function) -> Function:
    """Compile a function that kernels lend arrays to: it allocates nothing and returns no array.

    Numba counts references with atomic operations, two for each array of a NamedTuple and call: a quarter of a round's time.
    Here it counts none. Call these from kernels only: from Python, numba would never let go of a Generator. One that allocates
    does not compile.
    """
    return compiled(function, counting=False, inline=False)


def embedded(function: Function) -> Function:
    """Compile a function that kernels lend arrays to into each of its callers.

    A call would copy every array's seven words, a `World` and a `Track` a hundred of them, and take as long as a short loop.
    """
    return compiled(function, counting=False, inline=True)


def loop(function: Function) -> Function:
    """Compile a short loop over arrays into each kernel that calls it; Python may call it too."""
    return compiled(function, counting=True, inline=True)


def compiled(function: Function, *, counting: bool, inline: bool) -> Function:
    """As Python calls it and, a draft of the same, as kernels do.

    Both options are always given, or else what is compiled on the way to a caller would inherit the caller's.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": inline, "no_cfunc_wrapper": True}
    if counts_references():  # a private option: numba would refuse one that it does not know
        options["_nrt"] = counting
    parts = drafts()
    entry: Any = njit(**options, **({} if parts is None else {"pipeline_class": parts.EntryCompiler}))(function)
    if entry is function:  # NUMBA_DISABLE_JIT
        return function
    if parts is not None:
        options |= {"pipeline_class": parts.DraftCompiler, "no_cpython_wrapper": True}
        entry.__class__ = parts.Entry
        entry.draft = njit(**options)(function)
        entry.draft.__class__ = parts.Part
    keep(entry)
    return cast(Function, entry)


def inlined(function: Function) -> Function:
    """Compile a small helper into each kernel that calls it."""
    return cast(Function, njit(inline="always", error_model="numpy")(function))
