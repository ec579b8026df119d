"""Machine code of kernels kept on disk: what one process compiles, the next one finds.

Numba's own cache asks whether the file that a function is in has changed, not the files of what it calls: after an upgrade
it would go on with the old code. Here every kernel is kept by the digest of all of them.

Each function and signature has a file of its own, so processes that compile at the same time do not meet. In numba's index they
may, and a third process then finds code that was compiled for other types.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

from ensample.compiling import announce
from ensample.kernels.interruption import uninterrupted
from ensample.kernels.private import Parts, complain, machine, parts_of_numba
from ensample.kernels.shelf import Shelf, homes, sources_digest, tools_digest

__all__ = ["SHELF", "is_kept", "is_noted", "keep", "note", "note_seconds", "seconds_noted"]

PACKAGES = "ensample.kernels.", "ensample.simulation.algorithms."  # whose sources `sources_digest` reads

SHELF = Shelf(sources_digest(), tools_digest(), homes())
"""Made before any kernel is imported, see `__init__.py`: made later, it might have the name of newer sources than theirs."""


def keep(dispatcher: Any) -> None:
    """Give a kernel a place on disk, if it is a function of this package's modules: the digest knows no other sources."""
    function = dispatcher.py_func
    ours = function.__module__.startswith(PACKAGES) and function.__qualname__.isidentifier()
    parts = parts_of_numba()
    if parts is None or not hasattr(dispatcher, "_cache"):
        complain("place for machine code on disk: kernels are compiled again in every process, which takes a minute")
    elif ours and SHELF.sources:
        dispatcher._cache = MachineCode(function, parts)


def is_kept(dispatcher: Any, args: tuple[Any, ...]) -> bool:
    """Whether there is machine code of a kernel for such arguments, in this process or on disk."""
    code = getattr(dispatcher, "_cache", None)
    if dispatcher.signatures or not isinstance(code, MachineCode):
        return bool(dispatcher.signatures)
    with suppress(Exception):  # what cannot be read is not there
        signature = tuple(map(dispatcher.typeof_pyval, args))
        return SHELF.read(code.file(code.key(signature, dispatcher.targetctx.codegen()))) is not None
    return False


def note_seconds(dispatcher: Any, seconds: float) -> None:
    """Add to what was spent on doing without a kernel's machine code. Of two processes at once one may be forgotten."""
    SHELF.write(seconds_file(dispatcher), repr(seconds_noted(dispatcher) + seconds).encode())


def seconds_noted(dispatcher: Any) -> float:
    """What all processes have spent so far."""
    try:
        return float(SHELF.read(seconds_file(dispatcher)) or 0.0)
    except ValueError:
        return 0.0


def seconds_file(dispatcher: Any) -> str:
    return f"spent-{sha256(dispatcher.py_func.__qualname__.encode()).hexdigest()[:16]}.code"


def note(work: str) -> None:
    """That all the machine code of some work is here."""
    SHELF.write(note_file(work), b"")


def is_noted(work: str) -> bool:
    """Whether that was noted, by these sources and on such a machine."""
    return bool(SHELF.sources) and SHELF.read(note_file(work)) is not None


def note_file(work: str) -> str:
    return f"done-{sha256(repr((work, machine())).encode()).hexdigest()[:16]}.code"


class MachineCode:
    """What numba asks for a function's machine code before it compiles it, and hands what it has compiled."""

    def __init__(self, function: Callable[..., Any], parts: Parts) -> None:
        self.function = f"{function.__module__}.{function.__name__}"
        self.line = function.__code__.co_firstlineno
        self.parts = parts
        self.flushed = False

    @property
    def cache_path(self) -> str:
        return str(SHELF.homes[0].path / SHELF.name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What was compiled for these types on such a machine, or None."""
        with suppress(Exception):  # what cannot be read is compiled again
            self.parts.start(context)  # and no more: compilers load what they need themselves
            key = self.key(signature, context.codegen())
            data = None if self.flushed else SHELF.read(self.file(key))
            if data is not None:
                with uninterrupted():
                    found, code = pickle.loads(data)
                    if found == key:
                        return self.parts.rebuild(context, *code)
        announce(self.function)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """A call must not fail because its code cannot be kept."""
        try:
            if not result.library.has_dynamic_globals:  # addresses in this process
                key = self.key(signature, result.codegen)
                SHELF.write(self.file(key), self.parts.dumps((key, self.parts.reduce(result))))
        except Exception as error:
            complain(f"way to keep machine code on disk ({error!r})")

    def flush(self) -> None:
        """Numba asks for this before it compiles everything again."""
        self.flushed = True

    def key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        return self.function, self.line, signature, codegen.magic_tuple()

    def file(self, key: tuple[Any, ...]) -> str:
        """Types that differ may print alike, hence the key inside the file."""
        return f"{self.function}-{sha256(repr(key).encode()).hexdigest()[:16]}.code"
