"""What counts no references is handed no array by what counts them: each call would leave a reference behind, for ever."""

import ast
import importlib
import inspect
import pkgutil
import textwrap
import typing
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ensample.kernels
import ensample.simulation.algorithms
from ensample.kernels.books import newest
from ensample.kernels.compile import embedded, kernel
from ensample.types import FloatArray, IntArray


def modules() -> Iterator[Any]:
    for package in (ensample.kernels, ensample.simulation.algorithms):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def has_arrays(kind: Any) -> bool:
    """Whether a value of this annotation is an array or holds some."""
    if kind in (FloatArray, IntArray) or typing.get_origin(kind) is np.ndarray or kind is np.ndarray:
        return True
    if hasattr(kind, "_fields"):
        return any(has_arrays(field) for field in typing.get_type_hints(kind).values())
    return any(has_arrays(part) for part in typing.get_args(kind))


def counts(function: Any) -> bool:
    return function.targetoptions.get("_nrt", True)


def leaks(function: Any, names: dict[str, Any]) -> list[str]:
    """What a function that counts no references calls and should not."""
    if not hasattr(function, "targetoptions") or counts(function):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.py_func)))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    others = ((name, names.get(name)) for name in sorted(called))
    return [name for name, other in others if hasattr(other, "targetoptions") and counts(other) and gives_arrays(other)]


def gives_arrays(function: Any) -> bool:
    """A helper that is compiled into its callers is part of them."""
    if function.targetoptions.get("inline") == "always":
        return False
    return has_arrays(typing.get_type_hints(function.py_func).get("return"))


def test_nobody_leaves_references_behind() -> None:
    found, looked_at = [], 0
    for module in modules():
        for name, value in vars(module).items():
            if hasattr(value, "targetoptions") and value.py_func.__module__ == module.__name__:
                looked_at += not counts(value)
                found += [f"{module.__name__}.{name} calls {other}" for other in leaks(value, vars(module))]
    assert looked_at > 50 and not found


def test_who_does_is_found() -> None:
    @embedded
    def careless(book: Any) -> float:
        return newest(book)[0]

    @kernel
    def careful(book: Any) -> float:
        return newest(book)[0]

    names = vars(SimpleNamespace(newest=newest))
    assert leaks(careless, names) == ["newest"] and leaks(careful, names) == []


@pytest.mark.parametrize(
    ("kind", "expected"), [(float, False), (FloatArray, True), (tuple[float, IntArray], True), (tuple[int, bool], False)]
)
def test_arrays_are_known_by_their_annotation(kind: Any, expected: bool) -> None:
    assert has_arrays(kind) == expected
