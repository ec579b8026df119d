"""Valid calls of every binding of `ensample._core`, from the files `calls_<group>.py` beside this one."""

import copy
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ensample import _core

Arguments = dict[str, Any]
Maker = Callable[[np.random.Generator], Arguments]

LEVELS: dict[str, Maker] = {
    "level": lambda rng: {},
    "levels": lambda rng: {},
    "use_level": lambda rng: {"level": _core.level()},
}


def bindings() -> list[str]:
    """Return the names of what can be called: functions, classes, and methods as "Class.method"."""
    names = []
    for name, value in vars(_core).items():
        if name.startswith("_") or not callable(value):
            continue
        names.append(name)
        if isinstance(value, type):
            names += [
                f"{name}.{method}"
                for method, what in vars(value).items()
                if callable(what) and not method.startswith("_")
            ]
    return sorted(names)


def table() -> dict[str, Maker]:
    """Return, by name of the binding, what makes the arguments of a valid call.

    A method has its object first.
    """
    makers = dict(LEVELS)
    for path in sorted(Path(__file__).parent.glob("calls_*.py")):
        makers |= importlib.import_module(f"core.{path.stem}").CALLS
    return makers


def kernels() -> list[str]:
    """Return the bindings whose results may depend on the level, of those that have an entry."""
    return sorted((set(bindings()) & set(table())) - set(LEVELS))


def call(name: str, arguments: Arguments) -> Any:
    owner, _, method = name.rpartition(".")
    if not owner:
        return getattr(_core, name)(**arguments)
    this, *rest = arguments.items()
    return getattr(getattr(_core, owner), method)(this[1], **dict(rest))


def copied(arguments: Arguments) -> Arguments:
    return copy.deepcopy(arguments)


def values_in(value: Any) -> Iterator[Any]:
    """Yield what a call has read or written, in order.

    Bytes of arrays, states of generators, numbers.
    """
    if isinstance(value, np.ndarray):
        yield value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, np.random.Generator):
        yield repr(value.bit_generator.state)
    elif isinstance(value, dict):
        for item in value.values():
            yield from values_in(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from values_in(item)
    elif isinstance(value, float):
        yield np.float64(value).tobytes()
    else:
        yield repr(value)
