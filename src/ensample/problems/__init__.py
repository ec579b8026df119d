"""Environments with known truth, and families of them."""

from ensample.problems.family import (
    Family,
    check_needed,
    constants_of,
    example_of,
    families_by_name,
    problem,
    setting_of,
)
from ensample.problems.linear import ContextualLinearProblem, LinearProblem
from ensample.problems.moving import MovingProblem
from ensample.problems.noise import (
    BernoulliNoise,
    GaussianNoise,
    HeteroscedasticNoise,
    Noise,
    RademacherNoise,
)
from ensample.problems.problem import Problem

__all__ = [
    "BernoulliNoise",
    "ContextualLinearProblem",
    "Family",
    "GaussianNoise",
    "HeteroscedasticNoise",
    "LinearProblem",
    "MovingProblem",
    "Noise",
    "Problem",
    "RademacherNoise",
    "check_needed",
    "constants_of",
    "example_of",
    "families_by_name",
    "problem",
    "setting_of",
]
