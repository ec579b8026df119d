"""Families of problems, and how they are called."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.errors import InvalidArgument
from ensample.problems.linear import Problem
from ensample.registry import one_of, public_classes


class Family(ABC):
    """A law of problems; each replicate of a simulation draws its own. One of your own is a frozen dataclass with `draw`."""

    name: ClassVar[str] = ""  # that `problem` knows it by, if it is one of ours
    dim: int

    @abstractmethod
    def draw(self, rng: Generator) -> Problem:
        """A problem."""

    def example(self) -> Problem:
        """A problem with the constants of all of them: where draws differ in |theta| or in the noise, one with the largest."""
        return self.draw(np.random.default_rng(0))


def families_by_name() -> dict[str, type[Family]]:
    """Ours, by the names that `problem` knows them by."""
    return {kind.name: kind for kind in public_classes(Family).values()}


def problem(name: str, **options: Any) -> Family:
    """A family by its name.

    >>> problem("sphere", dim=5, arms=30)
    RandomSphere(dim=5, arms=30, noise=0.3)
    """
    there = families_by_name()
    kind = there.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument("problem", name, one_of(str(name), list(there)))
    allowed = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in allowed:
            raise InvalidArgument(
                option, options[option], f"an option of {name!r}: {one_of(option, allowed)}"
            )
    check_needed(kind, options)
    return kind(**options)


def check_needed(kind: type[Family], options: Mapping[str, Any]) -> None:
    """Raise unless all that has no default is given."""
    own = [item for item in fields(kind) if item.default is MISSING]  # type: ignore[arg-type]
    needed = [item.name for item in own if item.default_factory is MISSING]
    if missing := [option for option in needed if option not in options]:
        raise InvalidArgument(missing[0], None, f"what {kind.name!r} needs: {', '.join(needed)}")
