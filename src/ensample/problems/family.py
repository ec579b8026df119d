"""Families of problems, how they are called, and their constants."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.checks import whole
from ensample.errors import AssumptionError, InvalidArgument
from ensample.problems.noise import as_noise
from ensample.problems.problem import Problem
from ensample.registry import one_of, public_classes
from ensample.theory import Setting


class Family(ABC):
    """A law of problems; each replicate of a simulation draws its own.

    A family of your own is a frozen dataclass with `draw`.
    """

    name: ClassVar[str] = ""  # that `problem` knows it by, if it is one of ours
    dim: int

    @abstractmethod
    def draw(self, rng: Generator) -> Problem:
        """Draw a problem."""

    def example(self) -> Problem:
        """Return a problem with the constants of all: if draws differ, with the largest |theta|."""
        return self.draw(np.random.default_rng(0))

    def check_fields(self, dim: int = 1) -> None:
        """Check those of the usual fields that this family has: dim, arms, noise."""
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.name in ("dim", "arms"):
                whole(item.name, value, dim if item.name == "dim" else 1)
            if item.name == "noise":
                as_noise(value)


def families_by_name() -> dict[str, type[Family]]:
    """Return our families by the names that `problem` takes."""
    return {kind.name: kind for kind in sorted(public_classes(Family).values(), key=by_name)}


def by_name(kind: type[Family]) -> str:
    return kind.name


def problem(name: str, **options: Any) -> Family:
    """Return a family by its name.

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


DIGITS = 12  # of |theta|, which rounding leaves at 1 - 1e-16 where it is 1


def setting_of(
    problem: Problem | Family, horizon: int, regularization: float = 1.0, delta: float = 0.05
) -> Setting:
    """Return the constants of a problem, or of all problems of a family, over `horizon` rounds.

    Raise `AssumptionError` if it has none.

    >>> import ensample as es
    >>> setting_of(es.problem("sphere", dim=5, arms=30), horizon=1000)
    Setting(dim=5, arms=30, horizon=1000, noise=0.3, norm=1.0, regularization=1.0, delta=0.05)
    """
    example = example_of(problem)
    if not example.linear:
        raise AssumptionError(
            "a setting", "rewards that are linear in the features", f"{example!r}"
        )
    if example.noise.subgaussian == np.inf:
        raise AssumptionError(
            "a setting", "subGaussian noise (Assumption 2)", f"noise = {example.noise!r}"
        )
    return constants_of(problem, horizon, regularization, delta)


def constants_of(
    problem: Problem | Family, horizon: int, regularization: float = 1.0, delta: float = 0.05
) -> Setting:
    """Return what `setting_of` does, also for problems that no theorem is about.

    Those with rewards that are not linear have norm 1. Noise that is not subGaussian has its
    standard deviation for sigma.

    >>> import ensample as es
    >>> constants_of(es.problem("sphere", noise=es.StudentNoise(0.3)), horizon=1000).noise
    0.3
    """
    example = example_of(problem)
    if example.noise.size == np.inf:
        raise AssumptionError(
            "a race", "noise with a constant or a standard deviation", f"noise = {example.noise!r}"
        )
    arms = len(example.arms) if isinstance(example.arms, FiniteArms) else None
    norm = round(float(np.linalg.norm(example.theta)), DIGITS) if example.linear else 1.0
    return Setting(example.arms.dim, arms, horizon, example.noise.size, norm, regularization, delta)


def example_of(problem: Problem | Family) -> Problem:
    """Return the problem itself, or one of a family."""
    return first_of(problem) if isinstance(problem, Family) else problem


@lru_cache(maxsize=32)
def first_of(family: Family) -> Problem:
    return family.example()
