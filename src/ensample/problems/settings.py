"""The constants of a problem, as the theorems ask for them."""

from functools import lru_cache

import numpy as np

from ensample.arms import FiniteArms
from ensample.errors import AssumptionError
from ensample.problems.family import Family
from ensample.problems.linear import Problem
from ensample.theory import Setting

DIGITS = 12  # of |theta|, which rounding leaves at 1 - 1e-16 where it is 1


def setting_of(
    problem: Problem | Family, horizon: int, regularization: float = 1.0, delta: float = 0.05
) -> Setting:
    """The constants of a problem, or of all problems of a family, over `horizon` rounds; `AssumptionError` if it has none.

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

    Those with rewards that are not linear have norm 1. Noise that is not subGaussian has its standard deviation for sigma.

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
    """The problem itself, or one of a family."""
    return first_of(problem) if isinstance(problem, Family) else problem


@lru_cache(maxsize=32)
def first_of(family: Family) -> Problem:
    return family.example()
