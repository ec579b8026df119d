"""Families of problems: their names, and the constants that theorems ask for."""

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

DIGITS = 12  # of |theta|, which rounding leaves at 1 - 1e-16 where it is 1


class Family(ABC):
    """Law of problems: each replicate of a simulation draws its own.

    One of your own is a frozen dataclass with `draw`.
    """

    name: ClassVar[str] = ""  # that `problem` knows it by, if it is one of ours
    dim: int

    @abstractmethod
    def draw(self, rng: Generator) -> Problem:
        """Draw a problem."""

    def example(self) -> Problem:
        """Return a problem with the constants of all: the largest |theta| and the largest noise."""
        return self.draw(np.random.default_rng(0))


def check_fields(family: Family) -> None:
    """Check the fields `dim`, `arms` and `noise`, as far as a family has them."""
    for item in fields(family):  # type: ignore[arg-type]
        value = getattr(family, item.name)
        if item.name in ("dim", "arms"):
            whole(item.name, value, 1)
        elif item.name == "noise":
            as_noise(value)


def families_by_name() -> dict[str, type[Family]]:
    """Return our families by the names that `problem` knows them by, in alphabetical order."""
    families = {kind.name: kind for kind in public_classes(Family).values()}
    return dict(sorted(families.items()))


def problem(name: str, **options: Any) -> Family:
    """Return a family by its name.

    >>> problem("sphere", dim=5, arms=30)
    RandomSphere(dim=5, arms=30, noise=0.3)
    """
    known = families_by_name()
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument("problem", name, one_of(str(name), list(known)))
    allowed = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    for option, value in options.items():
        if option not in allowed:
            expected = f"an option of {name!r}: {one_of(option, allowed)}"
            raise InvalidArgument(option, value, expected)
    check_needed(kind, options)
    return kind(**options)


def check_needed(kind: type[Family], options: Mapping[str, Any]) -> None:
    """Raise unless every option without a default is given."""
    own = [item for item in fields(kind) if item.default is MISSING]  # type: ignore[arg-type]
    needed = [item.name for item in own if item.default_factory is MISSING]
    if missing := [option for option in needed if option not in options]:
        raise InvalidArgument(missing[0], None, f"what {kind.name!r} needs: {', '.join(needed)}")


def setting_of(
    problem: Problem | Family, horizon: int, regularization: float = 1.0, delta: float = 0.05
) -> Setting:
    """Return the constants of a problem, or of all problems of a family, over `horizon` rounds.

    `AssumptionError` if no theorem is about them.

    >>> import ensample as es
    >>> setting_of(es.problem("sphere", dim=5, arms=30), horizon=1000).norm
    1.0
    """
    example = example_of(problem)
    if not example.linear:
        expected = "rewards that are linear in the features"
        raise AssumptionError("a setting", expected, f"{example!r}")
    if example.noise.subgaussian == np.inf:
        expected = "subGaussian noise (Assumption 2)"
        raise AssumptionError("a setting", expected, f"noise = {example.noise!r}")
    return constants_of(problem, horizon, regularization, delta)


def constants_of(
    problem: Problem | Family, horizon: int, regularization: float = 1.0, delta: float = 0.05
) -> Setting:
    """Return what `setting_of` does, also for problems that no theorem is about.

    Problems with rewards that are not linear have norm 1. Noise that is not subGaussian has its
    standard deviation for sigma.

    >>> import ensample as es
    >>> constants_of(es.problem("sphere", noise=es.StudentNoise(0.3)), horizon=1000).noise
    0.3
    """
    example = example_of(problem)
    if example.noise.size == np.inf:
        expected = "noise with a constant or a standard deviation"
        raise AssumptionError("a race", expected, f"noise = {example.noise!r}")
    arms = len(example.arms) if isinstance(example.arms, FiniteArms) else None
    norm = round(float(np.linalg.norm(example.theta)), DIGITS) if example.linear else 1.0
    return Setting(example.arms.dim, arms, horizon, example.noise.size, norm, regularization, delta)


def example_of(problem: Problem | Family) -> Problem:
    """Return the problem itself, or one of a family."""
    return cached_example(problem) if isinstance(problem, Family) else problem


@lru_cache(maxsize=32)
def cached_example(family: Family) -> Problem:
    return family.example()
