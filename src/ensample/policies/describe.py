"""Recipes, laws, rules and settings as plain data, and back."""

import math
from dataclasses import fields, is_dataclass
from typing import Any

from ensample.arms import Box, ChangingArms, FiniteArms, UnitBall
from ensample.errors import EnsampleError, SnapshotError
from ensample.members import OptimisticMember, RoundRobin, StickyMember, UniformMember
from ensample.perturbations import CenteredBinomial, Gaussian, Rademacher, Sphere, Uniform
from ensample.policies.recipe import Recipe
from ensample.theory import Setting

__all__ = ["ARMS", "PARTS", "describe", "rebuild"]

PARTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Gaussian, Rademacher, Uniform, CenteredBinomial, Sphere),
        *(UniformMember, RoundRobin, OptimisticMember, StickyMember),
        Setting,
    )
}
ARMS: dict[str, type[Any]] = {kind.__name__: kind for kind in (FiniteArms, UnitBall, Box, ChangingArms)}


def describe(value: object) -> Any:
    """As plain data: parts of this library as {"kind": name, field: ...}, anything else by its name (and fields, if shown)."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"own": repr(value)}  # JSON has no word for it; no part of this library has one either
    if value is None or isinstance(value, int | float | str):
        return value
    kind = type(value)
    if PARTS.get(kind.__name__) is kind or isinstance(value, Recipe):
        return {"kind": kind.__name__} | {item.name: describe(getattr(value, item.name)) for item in fields(value)}  # type: ignore[arg-type]
    if is_dataclass(value):
        return {"own": repr(value)}
    return {"own": getattr(value, "__qualname__", kind.__qualname__)}


def rebuild(description: Any, kinds: dict[str, type[Any]], part: str = "recipe") -> Any:
    """The inverse of `describe`; an object of the user's own cannot be rebuilt."""
    if not isinstance(description, dict):
        return description
    if "own" in description:
        raise SnapshotError(
            f"the snapshot names {description['own']!r}, which is not part of this library: "
            "hand the recipe to load(path, recipe=...)"
        )
    name = description.get("kind")
    if not isinstance(name, str) or name not in kinds:
        raise SnapshotError.about(
            f"{part}.kind", name, "a recipe or part of this library; hand your own to load(path, recipe=...)"
        )
    expected = {item.name for item in fields(kinds[name])}
    if set(description) != {"kind", *expected}:
        raise SnapshotError.about(part, sorted(description), f"the fields of {name}: {', '.join(sorted(expected))}")
    arguments = {field: rebuild(description[field], kinds, f"{part}.{field}") for field in sorted(expected)}
    try:
        built = kinds[name](**arguments)
    except EnsampleError as error:
        raise SnapshotError(f"{part}: {error}") from error
    if describe(built) != description:
        raise SnapshotError.about(part, description, f"what {name} keeps as it is, as in {describe(built)}")
    return built
