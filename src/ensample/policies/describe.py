"""Recipes, laws, rules and settings as plain data, and back."""

import math
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from ensample.errors import EnsampleError, SnapshotError
from ensample.members import MemberRule
from ensample.models import RewardModel
from ensample.perturbations import InitialLaw
from ensample.policies.recipe import Recipe
from ensample.registry import has_plain_constructor, is_ours, loaded_object, name_of, public_object
from ensample.theory import Setting

PARTS = (Recipe, RewardModel, InitialLaw, MemberRule, Setting)
REMOVED = {"EnsembleSampling": ("bold",)}
"""Fields, by class, that earlier versions wrote and that count for nothing now."""
ADDED = {"EnsembleSampling": ("fresh", "ageing"), "InformationDirected": ("fresh",)}
"""Fields, by class, that earlier versions did not write: they have their defaults."""


def describe(value: object) -> Any:
    """As plain data: recipes and their parts as {"kind": name, field: ...}, by the names of `registry`; anything else cannot be
    rebuilt and is told apart by its name (and fields, if shown).
    """
    if isinstance(value, float) and not math.isfinite(value):
        return {
            "own": repr(value)
        }  # JSON has no word for it; no part of this library has one either
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, tuple):
        return [describe(item) for item in value]
    if isinstance(value, PARTS) and is_dataclass(value) and has_plain_constructor(type(value)):
        described = {item.name: describe(getattr(value, item.name)) for item in fields(value)}
        if is_ours(type(value)) or not any(is_own(item) for item in described.values()):
            return {"kind": name_of(type(value))} | described
    return {
        "own": repr(value)
        if is_dataclass(value)
        else name_of(value if hasattr(value, "__qualname__") else type(value))
    }


def is_own(description: Any) -> bool:
    """Whether something in it cannot be rebuilt."""
    inner = (
        description.values()
        if isinstance(description, dict)
        else description
        if isinstance(description, list)
        else ()
    )
    return (isinstance(description, dict) and "own" in description) or any(map(is_own, inner))


def wherever(description: Any) -> Any:
    """The description without the modules of what is not ours, which may have moved. A name without a colon is still ours."""
    if isinstance(description, list):
        return [wherever(item) for item in description]
    if not isinstance(description, dict):
        return description
    rest = {key: wherever(value) for key, value in description.items()}
    if isinstance(rest.get("kind"), str):
        _, colon, name = rest["kind"].rpartition(":")
        rest["kind"] = colon + name
    return rest


def upgraded(description: Any) -> Any:
    """Return a description that this or an earlier version wrote, with the fields that the classes have today."""
    if isinstance(description, list):
        return [upgraded(item) for item in description]
    if not isinstance(description, dict):
        return description
    found = {name: upgraded(value) for name, value in description.items()}
    kind = class_of(found.get("kind"))
    if not (isinstance(kind, type) and is_dataclass(kind)):
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


def class_of(name: object) -> Any:
    """Return the class of this name, if it is ours or its module is imported."""
    if not isinstance(name, str):
        return None
    return loaded_object(name) if ":" in name else public_object(name)


def rebuild(description: Any, part: str = "recipe") -> Any:
    """The inverse of `describe`, for files of unknown origin: no module is imported but ours.

    A class of somebody else's is used where its module is imported already; an object of the user's own cannot be rebuilt.
    """
    if isinstance(description, list):
        return tuple(rebuild(item, f"{part}[{place}]") for place, item in enumerate(description))
    if not isinstance(description, dict):
        return description
    if "own" in description:
        raise SnapshotError(
            f"the snapshot names {description['own']!r}, which cannot be stored: hand the recipe to load(path, recipe=...)"
        )
    kind = class_named(description.get("kind"), part)
    name = kind.__name__
    expected = {item.name for item in fields(kind)}
    if set(description) != {"kind", *expected}:
        raise SnapshotError.about(
            part, sorted(description), f"the fields of {name}: {', '.join(sorted(expected))}"
        )
    arguments = {
        field: rebuild(description[field], f"{part}.{field}") for field in sorted(expected)
    }
    try:
        built = kind(**arguments)
    except EnsampleError as error:
        raise SnapshotError(f"{part}: {error}") from error
    except Exception as error:  # of a class of the user's own
        raise SnapshotError.about(
            part, description, f"fields that {name} accepts ({type(error).__name__})"
        ) from error
    if describe(built) != description:
        raise SnapshotError.about(
            part, description, f"what {name} keeps as it is, as in {describe(built)}"
        )
    return built


def class_named(name: object, part: str) -> type[Any]:
    """The class of a recipe or of a part of one."""
    kind = class_of(name)
    if (
        isinstance(kind, type)
        and issubclass(kind, PARTS)
        and has_plain_constructor(kind)
        and name_of(kind) == name
    ):
        return kind
    text = name if isinstance(name, str) else ""
    module, colon, _ = text.partition(":")
    expected = (
        "a recipe or part of this library"
        if not colon
        else "a recipe or part of one, a frozen dataclass"
    )
    if colon and module not in sys.modules:
        expected += f", in a module that is imported: import {module} first if you trust the file"
    raise SnapshotError.about(
        f"{part}.kind", name, f"{expected}; hand your own to load(path, recipe=...)"
    )
