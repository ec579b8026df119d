"""Initial vectors on a sphere: anti-concentration exactly, in any dimension."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, always_at_least, generator, weakest
from ensample.claims.tails import LEAST, RARITY, THRESHOLD, adverse_directions, rarely, sampled_tail
from ensample.perturbations import Rademacher, Sphere
from ensample.statistics import beta_cdf
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "sphere-anticoncentration"
REWARDS = 8  # signs that follow the initial vector


def check(scale: Scale, seed: int, rare: bool = False) -> Outcome:
    """Every dimension exactly; and (W, Z) with W on the sphere and signs Z by draws of the library's laws."""
    largest, draws = scale.choose((500, 20_000), (5000, 300_000), (50_000, 3_000_000))
    dims = np.unique(np.geomspace(1, largest, 200).astype(int))
    tails = [tail(int(d)) * (RARITY if rare else 1.0) for d in dims]
    worst = int(np.argmin(tails))
    outcomes = [always_at_least(tails[worst], LEAST, dims.size, f"least {tails[worst]:.4g} at d = {dims[worst]}, exact")]
    rng, parts = generator(seed, ID), (2, 5)
    for dim in parts:

        def draw(rng: Generator, size: int, dim: int = dim) -> FloatArray:
            vectors = np.hstack([Sphere().draw_vectors(rng, size, dim), Rademacher().draw_vectors(rng, size, REWARDS)])
            return rarely(vectors, rng) if rare else vectors

        directions = adverse_directions(rng, dim + REWARDS, 5)
        outcomes.append(sampled_tail(draw, directions, draws, rng, CLAIM_ALARM / len(parts), f"d = {dim} and {REWARDS} signs"))
    x = tuple(float(d) for d in dims)
    curves = (Curve("exact", x, tuple(tail(int(d)) for d in dims)), Curve("claimed", x, (LEAST,) * len(x), bound=True))
    drawn = Figure("A sphere's anti-concentration", "d", "P(u'W >= |u| / 3)", curves, log_x=True)
    return replace(weakest(outcomes), figure=drawn)


def tail(d: int) -> float:
    """P(w_1 >= 1/3) on the sphere of radius sqrt d: w_1^2 / d has the law Beta(1/2, (d - 1)/2)."""
    if d == 1:
        return 0.5
    return 0.5 * beta_cdf(0.5 * (d - 1), 0.5, 1.0 - THRESHOLD**2 / d)


CLAIM = Claim(
    id=ID,
    title="Initial vectors on a sphere",
    statement="an initial vector on the sphere, alone or with signs, reaches |u| / 3 with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top W \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad W\sim\mathrm{Unif}(\sqrt d\,\mathbb{S}^{d-1})",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("for the initial vector only: its coordinates are not independent",),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("vectors that are 0 in 99 of 100 cases: variance 0.01", lambda scale, seed: check(scale, seed, True)),
    note="The appendix's lemma asks for independent coordinates, which a sphere does not have: the paper names the law "
    "without a proof.",
    costs={Scale.QUICK: Cost(0.4, 200), Scale.STANDARD: Cost(2, 300), Scale.PAPER: Cost(20, 300)},
)
