"""Uniform perturbations of variance 1: anti-concentration in every direction tried."""

import math

from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, always_at_least, generator, weakest
from ensample.claims.tails import LEAST, RARITY, THRESHOLD, adverse_directions, rarely, sampled_tail
from ensample.perturbations import Uniform
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "uniform-anticoncentration"


def check(scale: Scale, seed: int, rare: bool = False) -> Outcome:
    """One coordinate exactly; other directions by draws of the library's law."""
    draws, random = scale.choose((50_000, 10), (1_000_000, 20), (10_000_000, 20))
    rng, law = generator(seed, ID), Uniform()
    alone = 0.5 * (1.0 - THRESHOLD / math.sqrt(3.0)) * (RARITY if rare else 1.0)  # P(Z >= 1/3), Z uniform on [-sqrt 3, sqrt 3]
    outcomes = [always_at_least(alone, LEAST, 1, f"one coordinate: {alone:.4g}, exact")]

    def draw(rng: Generator, size: int) -> FloatArray:  # of the loop's dimension
        vectors = law.draw_vectors(rng, size, dim)
        return rarely(vectors, rng) if rare else vectors

    for dim in (2, 3, 12):
        directions = adverse_directions(rng, dim, random)
        outcomes.append(sampled_tail(draw, directions, draws, rng, CLAIM_ALARM / 3, f"n = {dim}"))
    return weakest(outcomes)


CLAIM = Claim(
    id=ID,
    title="Uniform perturbations",
    statement="uniform perturbations on [-sqrt 3, sqrt 3] reach |u| / 3 along any direction with probability >= 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i\sim\mathrm{Unif}[-\sqrt3,\sqrt3]",
    reference="appx:beyond gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("perturbations that are 0 in 99 of 100 cases: variance 0.01", lambda scale, seed: check(scale, seed, True)),
    costs={Scale.QUICK: Cost(0.5, 200), Scale.STANDARD: Cost(5, 300), Scale.PAPER: Cost(50, 300)},
)
