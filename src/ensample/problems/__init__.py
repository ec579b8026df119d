"""Environments with known truth, and named families of them."""

import difflib
from dataclasses import fields
from typing import Any

from ensample.errors import InvalidArgument
from ensample.problems.families import (
    AdversarialDuplicates,
    Ball,
    Contextual,
    Family,
    Kveton,
    LinReBoot,
    RandomSphere,
    Trap,
    TwoArms,
)
from ensample.problems.linear import ContextualLinearProblem, LinearProblem, Problem
from ensample.problems.noise import BernoulliNoise, GaussianNoise, HeteroscedasticNoise, Noise, RademacherNoise

__all__ = [
    "PROBLEMS",
    "BernoulliNoise",
    "ContextualLinearProblem",
    "Family",
    "GaussianNoise",
    "HeteroscedasticNoise",
    "LinearProblem",
    "Noise",
    "Problem",
    "RademacherNoise",
    "problem",
]

PROBLEMS: dict[str, type[Family]] = {
    "sphere": RandomSphere,
    "linreboot": LinReBoot,
    "kveton": Kveton,
    "two-arms": TwoArms,
    "trap": Trap,
    "ball": Ball,
    "adversarial-duplicates": AdversarialDuplicates,
    "contextual": Contextual,
}


def problem(name: str, **options: Any) -> Family:
    """A family by its name.

    >>> problem("sphere", dim=5, arms=30)
    RandomSphere(dim=5, arms=30, noise=0.3)
    """
    kind = PROBLEMS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument("problem", name, known(str(name), list(PROBLEMS)))
    allowed = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in allowed:
            raise InvalidArgument(option, options[option], f"an option of {name!r}: {known(option, allowed)}")
    return kind(**options)


def known(name: str, names: list[str]) -> str:
    """The known names, and the nearest of them."""
    near = difflib.get_close_matches(name, names, 1, 0.4)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"one of {', '.join(names)}{hint}"
