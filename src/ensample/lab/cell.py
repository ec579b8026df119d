"""A cell of a study's grid."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ensample.policies import Recipe
from ensample.problems import Family

__all__ = ["Cell"]


@dataclass(frozen=True)
class Cell:
    """One recipe on one problem for one horizon, to be run many times."""

    number: int
    policy: str  # label
    problem: str  # label
    axes: Mapping[str, Any]  # what varies: {"horizon": 1000, "dim": 5, "size": 10}
    recipe: Recipe
    family: Family
    horizon: int
    given: Mapping[str, Mapping[str, Any]]  # what the study says of its "problem" and "policy", without labels

    @property
    def name(self) -> str:
        """What tells this cell from the others."""
        return ", ".join([self.policy, self.problem, *self.values])

    @property
    def values(self) -> list[str]:
        """The value of each axis, in few digits."""
        return [f"{axis}={value:.6g}" if isinstance(value, float) else f"{axis}={value}" for axis, value in self.axes.items()]

    @property
    def key(self) -> int:
        """The address of its random numbers: the problem's own, so that every policy and horizon meets the same problems and
        noise, and a cell keeps its numbers when the grid around it changes.
        """
        return int.from_bytes(hashlib.sha256(repr(self.family).encode()).digest()[:6], "big")
