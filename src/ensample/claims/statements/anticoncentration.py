"""Anti-concentration P(u'Z >= |u|/3) >= 0.01 of laws that are not Gaussian.

Probabilities are exact where a law has few points, and sampled elsewhere. Each law has two families
of faults, in the probability and in the reach, and a broken twin whose perturbations are mostly 0.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import comb

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import always_at_most, generator, weakest
from ensample.claims.tails import (
    LEAST,
    RARITY,
    THRESHOLD,
    Exact,
    Sampled,
    Tails,
    adverse_directions,
    drawing,
    exact_tails,
    faults,
    judge_tails,
    rarely,
    sampled_tails,
    spoiled,
)
from ensample.claims.texts import claim
from ensample.perturbations import CenteredBinomial, InitialLaw, Rademacher, Sphere, Uniform
from ensample.statistics import beta_cdf
from ensample.types import FloatArray, IntArray

# three-point-anticoncentration: all admissible laws, by the one that comes nearest to the constant

LEAST_VARIANCE = 0.5
TILTS = np.geomspace(1e-3, 30.0, 4000)


def three_point_tails(
    scale: Scale, seed: int, reach: float, variance: float = LEAST_VARIANCE
) -> Tails:
    """Symmetric laws on {-a, 0, a}, from signs to the rarest that is 1-subGaussian, exactly."""
    count, laws = scale.choose((300, 6), (5000, 10), (50_000, 20))
    rng, found = generator(seed, "three-point-anticoncentration"), []
    for a in np.linspace(math.sqrt(variance), edge(variance), laws):
        chance = min(1.0, variance / a**2)
        points = np.array([-a, 0.0, a])
        weights = np.array([chance / 2.0, 1.0 - chance, chance / 2.0])
        for dim in (1, 2, 6):
            directions = adverse_directions(rng, dim, count // dim)
            least = exact_tails(points, weights, directions, reach)
            found.append(Exact(least, len(directions), f"a = {a:.3g}, n = {dim}"))
    return found


@cache
def edge(variance: float) -> float:
    """Return the largest a for which the law on {-a, 0, a} is 1-subGaussian, by bisection."""
    low, high = math.sqrt(variance), 20.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if subgaussian(middle, variance, TILTS) <= 1.0 else (low, middle)
    return low


def subgaussian(a: float, variance: float, tilts: FloatArray) -> float:
    """Return the largest log E exp(s Z) / (s^2 / 2) over tilts s: <= 1 for 1-subGaussian laws."""
    chance = variance / a**2
    s = tilts[a * tilts < 600.0]  # beyond, cosh overflows
    return float((np.log1p(chance * (np.cosh(a * s) - 1.0)) / (0.5 * s**2)).max())


claim(
    "three-point-anticoncentration",
    *faults(three_point_tails),
    broken=spoiled(three_point_tails, variance=0.1),
)

# strictly-subgaussian: the laws that the paper names are admissible once scaled to variance 1


def measure_strictly_subgaussian(scale: Scale, seed: int) -> Judge:
    """The largest log E exp(sZ) / (s^2 / 2) over s, for each law of variance 1: at most 1."""
    tilts = np.geomspace(1e-3, 30.0, scale.choose(2000, 20_000, 200_000))
    moments = log_moments(tilts)
    largest = {name: float((logs / (0.5 * tilts**2)).max()) for name, logs in moments.items()}

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, value in largest.items():
            detail = f"{name}: {value:.4g} of N(0, 1)'s"
            outcomes.append(always_at_most(value, 1.0 / f, tilts.size, detail))
        return weakest(outcomes)

    return judge


def log_moments(s: FloatArray) -> dict[str, FloatArray]:
    """Return log E exp(s Z) of laws of variance 1, for every tilt s."""
    laws = {
        "signs": np.logaddexp(s, -s) - np.log(2.0),
        "uniform": np.log(np.sinh(np.sqrt(3.0) * s) / (np.sqrt(3.0) * s)),
    }
    for trials in (2, 5, 20):
        logs = np.log([float(comb(trials, k)) for k in range(trials + 1)]) - trials * np.log(2.0)
        tilted = logs[:, None] + binomial_points(trials)[:, None] * s
        laws[f"binomial of {trials}"] = np.logaddexp.reduce(tilted, axis=0)
    return laws


def binomial_points(trials: int) -> FloatArray:
    """Return the values of a centred binomial variable of variance 1."""
    return np.asarray((2.0 * np.arange(trials + 1) - trials) / trials**0.5)


claim("strictly-subgaussian", measure_strictly_subgaussian, broken=2.0)

# rademacher-, binomial- and uniform-anticoncentration: laws with independent coordinates

Case = tuple[FloatArray, FloatArray, int, str]
"""Values of a coordinate, their probabilities, the number of coordinates, and a name."""


def sign_cases(rare: bool) -> list[Case]:
    points, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if rare:
        points = np.array([-1.0, 0.0, 1.0])
        weights = np.array([RARITY / 2, 1.0 - RARITY, RARITY / 2])
    dims = (2, 3, 6) if rare else (2, 3, 6, 10)
    return [(points, weights, dim, f"n = {dim}") for dim in dims]


def binomial_cases(rare: bool) -> list[Case]:
    cases = []
    for trials, dim in ((2, 5), (3, 4), (4, 4), (9, 2), (40, 2)):  # at most a few thousand points
        points = binomial_points(trials)
        weights = np.array([comb(trials, k) for k in range(trials + 1)]) / 2.0**trials
        if rare:
            points, weights = np.append(points, 0.0), np.append(RARITY * weights, 1.0 - RARITY)
        cases.append((points, weights, dim, f"{trials} trials, n = {dim}"))
    return cases


def discrete_tails(
    id: str, law: InitialLaw, cases: Callable[[bool], list[Case]]
) -> Callable[..., Tails]:
    """Return the tails of a law with few values: cases exactly, and 20 coordinates by draws."""

    def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
        count, draws = scale.choose((2000, 20_000), (30_000, 200_000), (300_000, 2_000_000))
        rng, found = generator(seed, id), list[Exact | Sampled]()
        for points, weights, dim, name in cases(rare):
            directions = adverse_directions(rng, dim, count // dim)
            least = exact_tails(points, weights, directions, reach)
            found.append(Exact(least, len(directions), name))
        directions, draw = adverse_directions(rng, 20, 5), drawing(law, 20, rare)
        hits = sampled_tails(draw, directions, draws, rng, reach)
        return [*found, Sampled(hits, draws, "n = 20")]

    return tails


def uniform_tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """One coordinate exactly, other directions by draws."""
    draws, random = scale.choose((20_000, 10), (1_000_000, 20), (10_000_000, 20))
    rng, share = generator(seed, "uniform-anticoncentration"), RARITY if rare else 1.0
    alone = max(0.0, 0.5 * (1.0 - reach / math.sqrt(3.0)))  # Z is uniform on [-sqrt 3, sqrt 3]
    found: list[Exact | Sampled] = [Exact(alone * share, 1, "one coordinate")]
    for dim in (2, 3, 12):
        directions = adverse_directions(rng, dim, random)
        hits = sampled_tails(drawing(Uniform(), dim, rare), directions, draws, rng, reach)
        found.append(Sampled(hits, draws, f"n = {dim}"))
    return found


sign_tails = discrete_tails("rademacher-anticoncentration", Rademacher(), sign_cases)
binomial_tails = discrete_tails("binomial-anticoncentration", CenteredBinomial(3), binomial_cases)
for id, tails in (
    ("rademacher-anticoncentration", sign_tails),
    ("binomial-anticoncentration", binomial_tails),
    ("uniform-anticoncentration", uniform_tails),
):
    claim(id, *faults(tails), broken=spoiled(tails, rare=True))

# sphere-anticoncentration: initial vectors on a sphere, whose coordinates are not independent

REWARDS = 8  # signs that follow the initial vector


def sphere_tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """W alone exactly, in every dimension; W and signs Z by draws."""
    dims, draws = dimensions(scale), scale.choose(20_000, 300_000, 3_000_000)
    exact = [sphere_tail(int(d), reach) * (RARITY if rare else 1.0) for d in dims]
    worst = int(np.argmin(exact))
    found: list[Exact | Sampled] = [Exact(exact[worst], dims.size, f"W alone, d = {dims[worst]}")]
    rng = generator(seed, "sphere-anticoncentration")
    for dim in (2, 5):
        directions = adverse_directions(rng, dim + REWARDS, 5)
        hits = sampled_tails(partial(draw_both, dim, rare), directions, draws, rng, reach)
        found.append(Sampled(hits, draws, f"d = {dim} and {REWARDS} signs"))
    return found


def draw_both(dim: int, rare: bool, rng: Generator, size: int) -> FloatArray:
    """Draw (W, Z). In the broken twin W is 0 as a whole, since its coordinates are dependent."""
    W, Z = Sphere().draw_vectors(rng, size, dim), Rademacher().draw_vectors(rng, size, REWARDS)
    return np.hstack([W * (rng.random((size, 1)) < RARITY), rarely(Z, rng)] if rare else [W, Z])


def dimensions(scale: Scale) -> IntArray:
    return np.unique(np.geomspace(1, scale.choose(500, 5000, 50_000), 200).astype(np.int64))


def sphere_tail(d: int, reach: float = THRESHOLD) -> float:
    """P(w_1 >= reach) on the sphere of radius sqrt d, where w_1^2 / d ~ Beta(1/2, (d - 1)/2)."""
    if d == 1 or reach**2 >= d:
        return 0.5 if reach**2 <= d else 0.0
    return 0.5 * beta_cdf(0.5 * (d - 1), 0.5, 1.0 - reach**2 / d)


def measure_sphere(scale: Scale, seed: int) -> Judge:
    """The tails, with a figure over the dimension."""
    found, dims = sphere_tails(scale, seed, THRESHOLD), dimensions(scale)
    exact = curve("exact", dims, (sphere_tail(int(d)) for d in dims))
    curves = exact, curve("claimed", dims, [LEAST] * len(dims), bound=True)
    drawn = Figure("A sphere's anti-concentration", "d", "P(u'W >= |u| / 3)", curves, log_x=True)
    return lambda f: replace(judge_tails(found, f), figure=drawn)


claim(
    "sphere-anticoncentration",
    measure_sphere,
    faults(sphere_tails)[1],
    broken=spoiled(sphere_tails, rare=True),
)
