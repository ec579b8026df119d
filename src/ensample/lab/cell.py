"""A cell of a study's grid."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ensample.codec import definition
from ensample.lab.own_code import names_in
from ensample.policies import Recipe
from ensample.problems import Family, Problem


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
        """What tells this cell from the others."""
        return ", ".join([self.policy, self.problem, *self.values])

    @property
    def values(self) -> list[str]:
        """The value of each axis, in few digits."""
        return [
            f"{axis}={value:.6g}" if isinstance(value, float) else f"{axis}={value}"
            for axis, value in self.axes.items()
        ]

    @property
    def definition(self) -> dict[str, Any]:
        """What decides its numbers, besides the study's seed, as plain data: whole, whatever names it was given by."""
        return {
            "recipe": definition(self.recipe),
            "problem": definition(self.family),
            "horizon": self.horizon,
        }

    @cached_property
    def key(self) -> int:
        """The address of its random numbers: the problem's own, so that every policy and horizon meets the same problems and
        noise, and a cell keeps its numbers when the grid around it changes.
        """
        defined = definition(self.family)
        plain = isinstance(self.family, Family) and all(
            ":" not in name for name in names_in(defined)
        )
        text = repr(self.family) if plain else json.dumps(defined, sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
