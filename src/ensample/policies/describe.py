"""Recipes, laws, rules and settings as plain data, and back."""

from dataclasses import fields, is_dataclass
from typing import Any

from ensample.arms import Box, ChangingArms, FiniteArms, UnitBall
from ensample.errors import SnapshotError
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
    if value is None or isinstance(value, int | float | str):
        return value
    kind = type(value)
    if PARTS.get(kind.__name__) is kind or isinstance(value, Recipe):
        return {"kind": kind.__name__} | {item.name: describe(getattr(value, item.name)) for item in fields(value)}  # type: ignore[arg-type]
    if is_dataclass(value):
        return {"own": repr(value)}
    return {"own": getattr(value, "__qualname__", kind.__qualname__)}


def rebuild(description: Any, kinds: dict[str, type[Any]]) -> Any:
    """The inverse of `describe`; an object of the user's own cannot be rebuilt."""
    if not isinstance(description, dict):
        return description
    if "own" in description:
        raise SnapshotError(
            f"the snapshot names {description['own']!r}, which is not part of this library: "
            "hand the recipe to load(path, recipe=...)"
        )
    if description.get("kind") not in kinds:
        raise SnapshotError(f"the snapshot names the unknown kind {description.get('kind')!r}")
    arguments = {name: rebuild(value, kinds) for name, value in description.items() if name != "kind"}
    return kinds[description["kind"]](**arguments)
