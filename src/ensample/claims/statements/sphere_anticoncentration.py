"""Initial vectors on a sphere: anti-concentration exactly, in any dimension."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Judge, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.tails import (
    LEAST,
    RARITY,
    THRESHOLD,
    Exact,
    Sampled,
    Tails,
    adverse_directions,
    anticoncentration,
    judge_tails,
    rarely,
    sampled_tails,
)
from ensample.perturbations import Rademacher, Sphere
from ensample.statistics import beta_cdf
from ensample.types import FloatArray, IntArray

ID = "sphere-anticoncentration"
REWARDS = 8  # signs that follow the initial vector


def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """Every dimension exactly; and (W, Z) with W on the sphere and signs Z by draws of the library's laws."""
    dims, draws = dimensions(scale), scale.choose(20_000, 300_000, 3_000_000)
    exact = [tail(int(d), reach) * (RARITY if rare else 1.0) for d in dims]
    worst = int(np.argmin(exact))
    found: list[Exact | Sampled] = [Exact(exact[worst], dims.size, f"W alone, d = {dims[worst]}")]
    rng = generator(seed, ID)
    for dim in (2, 5):

        def draw(rng: Generator, size: int, dim: int = dim) -> FloatArray:
            W, Z = (
                Sphere().draw_vectors(rng, size, dim),
                Rademacher().draw_vectors(rng, size, REWARDS),
            )
            # W as a whole: its coordinates are not independent anyhow
            return (
                np.hstack([W * (rng.random((size, 1)) < RARITY), rarely(Z, rng)])
                if rare
                else np.hstack([W, Z])
            )

        directions = adverse_directions(rng, dim + REWARDS, 5)
        found.append(
            Sampled(
                sampled_tails(draw, directions, draws, rng, reach),
                draws,
                f"d = {dim} and {REWARDS} signs",
            )
        )
    return found


def dimensions(scale: Scale) -> IntArray:
    return np.unique(np.geomspace(1, scale.choose(500, 5000, 50_000), 200).astype(np.int64))


def measure(scale: Scale, seed: int) -> Judge:
    found, dims = tails(scale, seed, THRESHOLD), dimensions(scale)
    x = tuple(float(d) for d in dims)
    curves = (
        Curve("exact", x, tuple(tail(int(d), THRESHOLD) for d in dims)),
        Curve("claimed", x, (LEAST,) * len(x), bound=True),
    )
    drawn = Figure("A sphere's anti-concentration", "d", "P(u'W >= |u| / 3)", curves, log_x=True)
    return lambda f: replace(judge_tails(found, f), figure=drawn)


def tail(d: int, reach: float = THRESHOLD) -> float:
    """P(w_1 >= reach) on the sphere of radius sqrt d: w_1^2 / d has the law Beta(1/2, (d - 1)/2)."""
    if d == 1 or reach**2 >= d:
        return 0.5 if reach**2 <= d else 0.0
    return 0.5 * beta_cdf(0.5 * (d - 1), 0.5, 1.0 - reach**2 / d)


CLAIM = Claim(
    id=ID,
    title="Initial vectors on a sphere",
    statement="an initial vector on the sphere, alone or with signs, reaches |u| / 3 with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top W \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad W\sim\mathrm{Unif}(\sqrt d\,\mathbb{S}^{d-1})",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("for the initial vector only: its coordinates are not independent",),
    kind=Kind.PROBABILITY,
    faults=(anticoncentration(tails)[0]._replace(measure=measure), anticoncentration(tails)[1]),
    broken=Broken(
        "W, and each sign, is 0 in 99 of 100 cases, independently: variance 0.01",
        lambda scale, seed: judge_tails(tails(scale, seed, THRESHOLD, rare=True), 1.0),
    ),
    note="The appendix's lemma asks for independent coordinates, which a sphere does not have. Its proof uses only that u'Z is "
    "symmetric, 1-subGaussian and of variance at least 1/2, which is so: the law that the remark names is covered.",
    costs={Scale.QUICK: Cost(0.4, 200), Scale.STANDARD: Cost(2, 300), Scale.PAPER: Cost(20, 300)},
)
