"""Descriptions with all fields, as snapshots and events store them."""

import math
import re
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from ensample.codec.arguments import FEATURES, RECIPES, Table, belongs_to, construct
from ensample.errors import EnsampleError, InvalidArgument, SnapshotError
from ensample.registry import has_plain_constructor, is_ours, loaded_object, name_of, public_object

REMOVED = {"EnsembleSampling": ("bold",)}
"""Fields, by class, that earlier versions wrote and that count for nothing now."""
ADDED = {"EnsembleSampling": ("fresh", "ageing"), "InformationDirected": ("fresh",)}
"""Fields, by class, that earlier versions did not write: they have their defaults."""


def describe(value: object) -> Any:
    """Return an object as plain data, with all fields.

    What cannot be rebuilt, such as a function, is `{"own": ...}`: its name, or its `repr`.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return {"own": repr(value)}  # JSON has no word for it, and nothing of ours has it
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, tuple):
        return [describe(item) for item in value]
    kind = type(value)
    is_feature = belongs_to(kind, FEATURES)
    if is_feature and is_dataclass(value):  # lists and dicts in features stay as they are
        values = {item.name: getattr(value, item.name) for item in fields(value)}
        return {"kind": name_of(kind)} | {
            name: item if isinstance(item, list | dict) else describe(item)
            for name, item in values.items()
        }
    if belongs_to(kind, RECIPES) and is_dataclass(value) and has_plain_constructor(kind):
        found = {item.name: describe(getattr(value, item.name)) for item in fields(value)}
        if is_ours(kind) or not any(map(has_own, found.values())):
            return {"kind": name_of(kind)} | found
    if is_feature or is_dataclass(value):
        return {"own": repr(value)}
    return {"own": name_of(value if hasattr(value, "__qualname__") else kind)}


def has_own(description: Any) -> bool:
    """Return True if something in a description cannot be rebuilt."""
    if isinstance(description, list):
        return any(map(has_own, description))
    if not isinstance(description, dict):
        return False
    return is_own(description) or any(map(has_own, description.values()))


def is_own(description: Table) -> bool:
    return "own" in description and "kind" not in description  # `Hybrid` has a field of this name


def rebuild(description: Any, part: str = "recipe") -> Any:
    """Return the object of a description of unknown origin: the inverse of `describe`.

    No module is imported but ours. A class of somebody else's is used where its module is imported
    already; what could not be described must be given again.
    """
    if isinstance(description, list):
        return tuple(rebuild(item, f"{part}[{place}]") for place, item in enumerate(description))
    if not isinstance(description, dict):
        return description
    if is_own(description):
        advice = give_again(part)
        raise SnapshotError(f"{part}: {description['own']!r} cannot be stored; {advice}")
    kind = stored_class(description.get("kind"), part)
    expected = {item.name for item in fields(kind)}
    if set(description) != {"kind", *expected}:
        wanted = f"the fields of {kind.__name__}: {', '.join(sorted(expected))}"
        raise SnapshotError.about(part, sorted(description), wanted)
    options = {name: rebuild(description[name], f"{part}.{name}") for name in sorted(expected)}
    try:
        built = construct(kind, options)
    except InvalidArgument as error:
        raise SnapshotError(f"{part}.{error}") from error
    except EnsampleError as error:
        raise SnapshotError(f"{part}: {error}") from error
    if describe(built) != description:
        wanted = f"what {kind.__name__} keeps as it is, as in {describe(built)}"
        raise SnapshotError.about(part, description, wanted)
    return built


def stored_class(name: object, part: str) -> type[Any]:
    """Return the class that a description names, if it is ours or its module is imported."""
    kind = known_class(name)
    if kind is not None and is_dataclass(kind) and name_of(kind) == name:
        is_recipe = belongs_to(kind, RECIPES) and has_plain_constructor(kind)
        if is_recipe or belongs_to(kind, FEATURES):
            return kind
    module, colon, _ = name.partition(":") if isinstance(name, str) else ("", "", "")
    expected = "the name of a class of this library"
    if colon:
        expected = "a frozen dataclass derived from a class of this library"
    if colon and module not in sys.modules:
        expected += f", in a module that is imported: import {module} first if you trust the file"
    raise SnapshotError.about(f"{part}.kind", name, f"{expected}; or {give_again(part)}")


def give_again(part: str) -> str:
    root = re.split(r"[.\[]", part)[0]
    return f"give the {root} again, {root}=..."


def known_class(name: object) -> type[Any] | None:
    """Return the class of this name, if it is ours or its module is imported."""
    if not isinstance(name, str):
        return None
    found = loaded_object(name) if ":" in name else public_object(name)
    return found if isinstance(found, type) else None


def upgrade(description: Any) -> Any:
    """Return a description by an earlier version with the fields that classes have today."""
    if isinstance(description, list):
        return [upgrade(item) for item in description]
    if not isinstance(description, dict):
        return description
    found = {name: upgrade(value) for name, value in description.items()}
    kind = known_class(found.get("kind"))
    if kind is None or not is_dataclass(kind):
        return found
    defaults = {item.name: item.default for item in fields(kind)}
    for base in (name_of(base) for base in kind.__mro__):
        for name in REMOVED.get(base, ()):
            if name not in defaults:
                found.pop(name, None)
        for name in ADDED.get(base, ()):
            if name in defaults:
                found.setdefault(name, describe(defaults[name]))
    return found


def without_modules(description: Any) -> Any:
    """Return a description without the modules of what is not ours, which may have moved.

    >>> without_modules({"kind": "mymodule:Mine", "model": {"kind": "Linear"}})
    {'kind': ':Mine', 'model': {'kind': 'Linear'}}
    """
    if isinstance(description, list):
        return [without_modules(item) for item in description]
    if not isinstance(description, dict):
        return description
    rest = {key: without_modules(value) for key, value in description.items()}
    if isinstance(rest.get("kind"), str):
        _, colon, name = rest["kind"].rpartition(":")
        rest["kind"] = colon + name
    return rest
