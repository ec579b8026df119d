"""What kernels use of numba that numba does not promise to keep.

Checked with numba 0.61 to 0.68; pyproject.toml has the same bounds. Without these parts kernels compile and give the same
numbers, but slowly, and somebody must hear of it.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba

__all__ = ["Parts", "complain", "counts_references", "drafts", "machine", "parts_of_numba"]


class Parts(NamedTuple):
    """Between compiled functions and bytes, and what both need. Dispatchers ask their `_cache` for the former."""

    dumps: Callable[[Any], bytes]
    reduce: Callable[[Any], tuple[Any, ...]]  # a compiled function to what can be dumped
    rebuild: Callable[..., Any]
    start: Callable[[Any], None]  # numba's memory, which compiled functions call: once in a process


@cache
def parts_of_numba() -> Parts | None:
    try:
        from numba.core import compiler, serialize
        from numba.core.runtime.nrt import rtsys

        result = compiler.CompileResult
        return Parts(serialize.dumps, result._reduce, result._rebuild, rtsys.initialize)
    except (ImportError, AttributeError):
        return None


@cache
def counts_references() -> bool:
    """Whether the counting of references is an option, `_nrt`; numba says so only when it compiles."""
    try:
        from numba.core.registry import cpu_target

        known = hasattr(cpu_target.options, "_nrt")
    except (ImportError, AttributeError):
        known = False
    if not known:
        complain("option _nrt: kernels count references, and a simulated round takes a third longer")
    return known


@cache
def machine() -> tuple[Any, ...]:
    """What machine code is compiled for; empty where numba does not say."""
    try:
        from numba.core.registry import cpu_target

        return tuple(cpu_target.target_context.codegen().magic_tuple())
    except (ImportError, AttributeError):
        return ()


@cache
def drafts() -> Any | None:
    """The module that compiles what kernels are made of, None where numba is not what it builds on."""
    try:
        from ensample.kernels import draft
    except (ImportError, AttributeError):
        complain("way to compile a kernel as a whole: its first call takes twice as long")
        return None
    return draft


@cache
def complain(lack: str) -> None:
    """Once in a process."""
    checked = "ensample was checked with numba 0.61 to 0.68"
    warnings.warn(f"numba {numba.__version__} has no {lack}; {checked}", RuntimeWarning, stacklevel=2)
