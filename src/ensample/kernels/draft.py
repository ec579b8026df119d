"""What a kernel is made of is compiled with it, once.

Numba would make machine code of every function that a kernel calls, wrap it for Python, and optimise it again in each of its
callers: four of five seconds of a first call. Here a function has a twin for the kernels that call it, a draft: typed and
translated, and left at that. The kernel that Python calls is then optimised as a whole.

Written with numba's own compiler, which may change: checked with numba 0.61 to 0.68.
"""

from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher

__all__ = ["DraftCompiler", "Entry", "Part"]


class Draft(JITCodeLibrary):
    """Code to be linked into other code; it has no address."""

    @property
    def codegen(self) -> Any:
        return Placeless(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Together with what it is linked into."""

    def _finalize_final_module(self) -> None:
        """No machine code: numba has linked what it calls into it, and that is all."""
        self._finalize_dynamic_globals()
        self._finalized = True


for name in ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_ensure_finalized"):
    getattr(JITCodeLibrary, name)  # an AttributeError here is answered by `private.drafts`


class Placeless:
    """A code generator, for code that has no place in memory."""

    def __init__(self, codegen: Any) -> None:
        self.codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        """It is set where the code is linked into."""


class DraftCompiler(CompilerBase):
    """Numba's own steps, into a `Draft`."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = Draft(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class Part(CPUDispatcher):
    """A draft of a function. Arrays that may not be written to are lent to it like others: there is one draft for both."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(writable, args)), {name: writable(kind) for name, kind in kws.items()})


def writable(kind: Any) -> Any:
    """The type of an argument, without the mark that it is only read."""
    if isinstance(kind, types.Array) and not kind.mutable:
        return kind.copy(readonly=False)
    return kind


class Entry(CPUDispatcher):
    """A compiled function as Python calls it. Kernels that name it get its `draft`."""

    draft: Any

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.draft)
