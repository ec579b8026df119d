"""The appendix's lemma for all laws at once, and the law that comes nearest to its constant."""

import math
from functools import cache

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.tails import (
    THRESHOLD,
    Exact,
    Tails,
    adverse_directions,
    anticoncentration,
    exact_tails,
    judge_tails,
)
from ensample.types import FloatArray

ID = "three-point-anticoncentration"
LEAST_VARIANCE = 0.5
TILTS = np.geomspace(1e-3, 30.0, 4000)


def tails(scale: Scale, seed: int, reach: float, variance: float = LEAST_VARIANCE) -> Tails:
    """Symmetric laws on {-a, 0, a} of the least variance, from signs to the rarest that is 1-subGaussian, exactly."""
    count, laws = scale.choose((300, 6), (5000, 10), (50_000, 20))
    rng, found = generator(seed, ID), []
    for a in np.linspace(math.sqrt(variance), edge(variance), laws):
        chance = min(1.0, variance / a**2)
        points, weights = (
            np.array([-a, 0.0, a]),
            np.array([chance / 2.0, 1.0 - chance, chance / 2.0]),
        )
        for dim in (1, 2, 6):
            directions = adverse_directions(rng, dim, count // dim)
            least = exact_tails(points, weights, directions, reach)
            found.append(Exact(least, len(directions), f"a = {a:.3g}, n = {dim}"))
    return found


@cache
def edge(variance: float) -> float:
    """The largest a for which the law on {-a, 0, a} of this variance is 1-subGaussian, by bisection."""
    low, high = math.sqrt(variance), 20.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if subgaussian(middle, variance, TILTS) <= 1.0 else (low, middle)
    return low


def subgaussian(a: float, variance: float, tilts: FloatArray) -> float:
    """The largest log E exp(s Z) / (s^2 / 2) over tilts s: at most 1 for a 1-subGaussian law."""
    chance = variance / a**2
    s = tilts[a * tilts < 600.0]  # beyond, cosh overflows
    return float((np.log1p(chance * (np.cosh(a * s) - 1.0)) / (0.5 * s**2)).max())


CLAIM = Claim(
    id=ID,
    title="Anti-concentration of every admissible law",
    statement="symmetric 1-subGaussian laws of variance >= 1/2 reach |u| / 3 along any direction with probability >= 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad \mathbb{P}(Z_i = \pm a) = \tfrac{1}{4a^2},\ "
    r"\mathbb{P}(Z_i = 0) = 1 - \tfrac{1}{2a^2}",
    reference="Lemma 11 (sufficient condition for anti-concentration), without a label, in Appendix H",
    section=Section.LAWS,
    assumptions=("i.i.d. coordinates, symmetric, 1-subGaussian", "variance at least 1/2"),
    kind=Kind.PROBABILITY,
    faults=anticoncentration(tails),
    broken=Broken(
        "variance 1/10 in place of 1/2, coordinates still independent",
        lambda scale, seed: judge_tails(tails(scale, seed, THRESHOLD, 0.1), 1.0),
    ),
    note="Laws on three points, {-a, 0, a}: the larger a is, the rarer they are not 0, and the largest a that is still "
    "1-subGaussian, 2.53, comes to 0.039, four times the 0.01 that is claimed. No law nearer to it is known here.",
    costs={Scale.QUICK: Cost(0.3, 200), Scale.STANDARD: Cost(3, 300), Scale.PAPER: Cost(30, 300)},
)
