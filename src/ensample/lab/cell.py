"""A cell of a study's grid, and the definition that decides its numbers.

A cell's label, its number and the grid around it are words about it. Its definition is all that
makes its problem and its recipe, the horizon, the checkpoints, the evaluation and the seed.
Replicate r of a definition is the same in every study, so results are found by a digest of it and a
study can change around them.
"""

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from ensample.codec import definition
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import loaded_object

Definition = dict[str, Any]
DIGITS = 20  # of a digest in hexadecimal: a million cells share one with probability 4e-13


@dataclass(frozen=True)
class Cell:
    """One recipe on one problem for one horizon, to be run many times."""

    number: int
    policy: str  # label
    problem: str  # label
    axes: Mapping[str, Any]  # what varies: {"horizon": 1000, "dim": 5, "size": 10}
    recipe: Recipe
    family: Problem | Family  # a family draws a problem of its own for each run
    horizon: int

    @property
    def name(self) -> str:
        """Name that no other cell of the study has."""
        return ", ".join([self.policy, self.problem, *self.values])

    @property
    def values(self) -> list[str]:
        """The value of each axis, in few digits."""
        return [
            f"{axis}={value:.6g}" if isinstance(value, float) else f"{axis}={value}"
            for axis, value in self.axes.items()
        ]

    @property
    def definition(self) -> Definition:
        """Plain data that decides its numbers, besides the study's options."""
        parts = {"recipe": definition(self.recipe), "problem": definition(self.family)}
        return parts | {"horizon": self.horizon}

    @cached_property
    def key(self) -> int:
        """The address of its random numbers, which depends on the problem alone.

        So every policy and horizon meets the same problems and noise, and a cell keeps its numbers
        when the grid around it changes.
        """
        problem = definition(self.family)
        is_foreign = any(":" in name for name in class_names(problem))
        by_repr = isinstance(self.family, Family) and not is_foreign
        text = repr(self.family) if by_repr else json.dumps(problem, sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def digest(definition: Definition) -> str:
    """Return a hash that names the results of a definition.

    >>> digest({"horizon": 5, "seed": 0}) == digest({"seed": 0, "horizon": 5})
    True
    """
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:DIGITS]


def code_digests(definition: Definition) -> dict[str, str]:
    """Return a hash of the source of each module, not ours, that has a class of the definition.

    Such code decides numbers as fields do. What the module itself imports is not looked at.

    >>> code_digests({"kind": "LinUCB", "model": {"kind": "Linear"}})
    {}
    """
    names = [name for name in sorted(set(class_names(definition))) if ":" in name]
    found = {name.partition(":")[0]: source_digest(name) for name in names}
    return {module: source for module, source in found.items() if source}


@cache
def source_digest(name: str) -> str:
    """Return a hash of the source of the module of `module:Name` when first asked for.

    It is of the class alone where the module is no file, as in a notebook; empty if unknown.
    """
    thing = loaded_object(name)
    for part in (inspect.getmodule(thing), thing):
        try:
            source = inspect.getsource(part)  # type: ignore[arg-type]
            return hashlib.sha256(source.encode()).hexdigest()[:16]
        except (OSError, TypeError):  # no source that could be read
            continue
    return ""


def class_names(definition: Any) -> Iterator[str]:
    """Yield the names of the classes in a definition."""
    if isinstance(definition, dict):
        yield from (value for key, value in definition.items() if key in ("kind", "own"))
        definition = list(definition.values())
    if isinstance(definition, list):
        for item in definition:
            yield from class_names(item)
