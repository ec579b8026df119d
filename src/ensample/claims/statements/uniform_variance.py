"""Uniform on [-1, 1] does not meet the variance condition; rescaled to variance 1 it does."""

import math

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most, weakest

__all__ = ["CLAIM"]

LEAST_VARIANCE = 0.5


def check(scale: Scale, seed: int, edge: float = 1.0) -> Outcome:
    """The variance edge^2 / 3 is below 1/2 while the law is 1-subGaussian, which is checked on a grid of s."""
    grid = np.geomspace(1e-3, 30.0, scale.choose(2000, 20_000, 200_000))
    moments = np.log(np.sinh(edge * grid) / (edge * grid))  # log E exp(s Z)
    excess = float((moments / (0.5 * grid**2)).max())
    return weakest(
        [
            always_at_most(edge**2 / 3.0, math.nextafter(LEAST_VARIANCE, 0.0), 1, f"variance {edge**2 / 3:.4g}, 1/2 is asked"),
            always_at_most(excess, 1.0, grid.size, f"log-moments reach {excess:.4g} of those of N(0, 1)"),
        ]
    )


CLAIM = Claim(
    id="uniform-variance",
    title="Uniform on [-1, 1] has too little variance",
    statement="uniform on [-1, 1] is 1-subGaussian with variance 1/3, below the 1/2 that the lemma asks",
    latex=r"\mathrm{Var}\big(\mathrm{Unif}[-1,1]\big) = \tfrac13 < \tfrac12",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("the law as it is, with subGaussian constant 1",),
    kind=Kind.INEQUALITY,
    check=check,
    broken=Broken("uniform on [-sqrt 3, sqrt 3], whose variance is 1", lambda scale, seed: check(scale, seed, math.sqrt(3.0))),
    note="The remark lists the uniform law as it is. It has to be stretched to [-sqrt 3, sqrt 3], which keeps it "
    "1-subGaussian: that is the library's Uniform.",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.1), Scale.PAPER: Cost(0.2)},
)
