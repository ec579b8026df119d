"""What a kernel is made of is compiled with it, once.

Numba would make machine code of every function that a kernel calls, wrap it for Python, and optimise it again in each of its
callers: four of five seconds of a first call. Here a function has a twin for the kernels that call it, a draft: typed and
translated, and left at that. The kernel that Python calls is then optimised as a whole, without unrolling its loops: those that
matter have tiles (`tiles`), the others would become three times as long and no faster.

Written with numba's own compiler, which may change: checked with numba 0.61 to 0.68.
"""

import gc
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import config
from numba.core.codegen import CPUCodegen, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher

from ensample.kernels.interruption import let_in, uninterrupted

__all__ = ["DraftCompiler", "Entry", "EntryCompiler", "Part"]


class Rolled:
    """A code generator that leaves loops as they are."""

    def __init__(self, codegen: Any) -> None:
        self.codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codegen, name)

    if hasattr(CPUCodegen, "_pass_builder"):  # from numba 0.62 on, with LLVM's newer manager of passes
        _module_pass_manager = CPUCodegen._module_pass_manager
        _function_pass_manager = CPUCodegen._function_pass_manager

        def _pass_builder(self, **asked: Any) -> Any:
            """As numba has it, but for unrolling."""
            usual: Any = config
            options = llvm.create_pipeline_tuning_options()
            options.speed_level = int(asked.get("opt", usual.OPT))
            options.loop_vectorization = asked.get("loop_vectorize", usual.LOOP_VECTORIZE)
            options.slp_vectorization = asked.get("slp_vectorize", usual.SLP_VECTORIZE)
            options.loop_unrolling = False
            return llvm.create_pass_builder(self._tm, options)


class Placeless(Rolled):
    """A code generator, for code that has no place in memory."""

    def set_env(self, name: str, env: Any) -> None:
        """It is set where the code is linked into."""


class Draft(JITCodeLibrary):
    """Code to be linked into other code; it has no address."""

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


class DraftCompiler(CompilerBase):
    """Numba's own steps, into a `Draft`."""

    def define_pipelines(self) -> list[Any]:
        let_in()
        state = self.state
        state.library = Draft(Placeless(state.targetctx.codegen()), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class EntryCompiler(CompilerBase):
    """Numba's own steps, with loops as they are."""

    def define_pipelines(self) -> list[Any]:
        let_in()
        state = self.state
        state.library = JITCodeLibrary(Rolled(state.targetctx.codegen()), state.func_id.func_qualname)
        state.library.enable_object_caching()  # as numba does for libraries of its own
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

    def compile(self, sig: Any) -> Any:
        """Compiled, or found on disk. Meanwhile nobody looks for garbage: what a compiler makes lives until it is done.

        Ctrl-C comes before one of the functions that it is made of, or after them: LLVM may then take up to a second.
        """
        looking = gc.isenabled()
        with uninterrupted():
            try:
                gc.disable()
                return super().compile(sig)
            finally:
                if looking:
                    gc.enable()

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.draft)
