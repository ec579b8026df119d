"""Signs as perturbations: anti-concentration in every direction tried, exactly."""

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, weakest
from ensample.claims.tails import RARITY, adverse_directions, exact_tail, rarely, sampled_tail
from ensample.perturbations import Rademacher
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "rademacher-anticoncentration"


def check(scale: Scale, seed: int, rare: bool = False) -> Outcome:
    """All 2^10 sign vectors (3^6 where a perturbation may be 0) against adverse and random directions, and library draws."""
    count, draws = scale.choose((2000, 20_000), (30_000, 200_000), (300_000, 2_000_000))
    rng = generator(seed, ID)
    points, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if rare:
        points, weights = np.array([-1.0, 0.0, 1.0]), np.array([RARITY / 2, 1.0 - RARITY, RARITY / 2])
    outcomes = []
    for dim in (2, 3, 6) if rare else (2, 3, 6, 10):
        outcomes.append(exact_tail(points, weights, adverse_directions(rng, dim, count // dim), f"n = {dim}"))
    law = Rademacher()

    def draw(rng: Generator, size: int) -> FloatArray:
        vectors = law.draw_vectors(rng, size, 20)
        return rarely(vectors, rng) if rare else vectors

    outcomes.append(sampled_tail(draw, adverse_directions(rng, 20, 5), draws, rng, CLAIM_ALARM, "n = 20"))
    return weakest(outcomes)


CLAIM = Claim(
    id=ID,
    title="Rademacher perturbations",
    statement="signs as perturbations reach |u| / 3 along any direction with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i = \pm1",
    reference="appx:beyond gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("perturbations that are 0 in 99 of 100 cases: variance 0.01", lambda scale, seed: check(scale, seed, True)),
    note="The worst direction found has two equal coordinates, with probability 1/4: the constant 0.01 is far from tight.",
    costs={Scale.QUICK: Cost(0.4, 200), Scale.STANDARD: Cost(1, 200), Scale.PAPER: Cost(10, 200)},
)
