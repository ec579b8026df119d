"""Recipes, problems and their parts as a study file says them."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from ensample.arms import Arms
from ensample.errors import InvalidArgument
from ensample.lab.parts import made
from ensample.lab.plain_data import DEEPEST
from ensample.members import MemberRule
from ensample.models import RewardModel
from ensample.perturbations import InitialLaw
from ensample.policies import Recipe
from ensample.problems import Family, Noise, Problem
from ensample.registry import has_plain_constructor, import_object, name_of
from ensample.theory import Setting

WHOLE = (Recipe, Family, Problem)
PARTS = (*WHOLE, InitialLaw, MemberRule, Noise, RewardModel, Setting, Arms)
Table = dict[str, Any]


def tables(key: str, needed: str, value: Any) -> Any:
    """A [key] table or several, from tables, names or objects; what is none of these is left for the grid to refuse."""
    if isinstance(value, list | tuple):
        return [table(f"{key}[{place}]", needed, item) for place, item in enumerate(value)]
    return table(key, needed, value)


def table(where: str, needed: str, value: Any) -> Any:
    if isinstance(value, str | Recipe | Family | Problem):
        value = {needed: value}
    if not isinstance(value, dict):
        return value
    given = value.get(needed)
    if isinstance(given, str) and ":" in given:
        named = import_object(f"{where}.{needed}", given)
        if isinstance(named, WHOLE) and "own" not in definition(
            named
        ):  # its constants count, not where they are kept
            value = {"label": label_of(given)} | value | {needed: named}
    said = {key: written(f"{where}.{key}", item) for key, item in value.items()}
    if isinstance(value.get(needed), WHOLE):
        check_same(f"{where}.{needed}", value[needed], said[needed])
    return said


def label_of(name: str) -> str:
    """What follows the module.

    >>> label_of("mymodule:MyRecipe"), label_of("sphere")
    ('MyRecipe', 'sphere')
    """
    return name.rpartition(":")[2]


def written(where: str, value: Any, depth: int = 0) -> Any:
    """Plain data: parts as tables with a `kind`, functions and classes by name, arrays as lists; others as they are."""
    if depth > DEEPEST:
        return value  # which `not_plain` finds
    if isinstance(value, PARTS):
        arguments = arguments_of(value)
        if arguments is None:
            expected = "something that a file can say: a frozen dataclass, or its name, such as mymodule:my_problem"
            raise InvalidArgument(where, value, expected)
        return {"kind": name_of(type(value))} | written(where, arguments, depth + 1)
    if isinstance(value, dict):
        return {key: written(f"{where}.{key}", item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [written(f"{where}[{place}]", item, depth + 1) for place, item in enumerate(value)]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return name_of(value) if callable(value) and hasattr(value, "__qualname__") else value


def arguments_of(part: Any) -> Table | None:
    """What makes it again, without what it would be anyway; "none" for None, which TOML has not."""
    if not has_plain_constructor(type(part)):
        found: Table | None = getattr(part, "parameters", None)
        return found
    values = {
        item.name: (getattr(part, item.name), default_of(item))
        for item in fields(part)
        if item.init
    }
    return {
        name: "none" if value is None else value
        for name, (value, default) in values.items()
        if differs(value, default)
    }


def default_of(item: Any) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def differs(value: Any, default: Any) -> bool:
    return default is MISSING or type(value) is not type(default) or bool(value != default)


def check_same(where: str, given: Any, said: Table) -> None:
    """Raise if what was written down makes something else."""
    again = made(where, said, WHOLE, {})
    if is_dataclass(given) and again != given:
        raise InvalidArgument(where, given, f"what its fields say, and they make {again!r}")


def definition(part: Any) -> Any:
    """As `written`; what cannot be written is told apart by its class."""
    try:
        return written("", part)
    except InvalidArgument:
        return {"own": name_of(type(part))}
