"""Uniform perturbations of variance 1: anti-concentration in every direction tried."""

import math

from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.tails import (
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
from ensample.perturbations import Uniform
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "uniform-anticoncentration"


def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """One coordinate exactly; other directions by draws of the library's law."""
    draws, random = scale.choose((20_000, 10), (1_000_000, 20), (10_000_000, 20))
    rng, law = generator(seed, ID), Uniform()
    alone = max(0.0, 0.5 * (1.0 - reach / math.sqrt(3.0)))  # P(Z >= reach), Z uniform on [-sqrt 3, sqrt 3]
    found: list[Exact | Sampled] = [Exact(alone * (RARITY if rare else 1.0), 1, "one coordinate")]

    def draw(rng: Generator, size: int) -> FloatArray:  # of the loop's dimension
        vectors = law.draw_vectors(rng, size, dim)
        return rarely(vectors, rng) if rare else vectors

    for dim in (2, 3, 12):
        directions = adverse_directions(rng, dim, random)
        found.append(Sampled(sampled_tails(draw, directions, draws, rng, reach), draws, f"n = {dim}"))
    return found


CLAIM = Claim(
    id=ID,
    title="Uniform perturbations",
    statement="uniform perturbations on [-sqrt 3, sqrt 3] reach |u| / 3 along any direction with probability >= 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i\sim\mathrm{Unif}[-\sqrt3,\sqrt3]",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    faults=anticoncentration(tails),
    broken=Broken(
        "each perturbation is 0 in 99 of 100 cases, independently: variance 0.01",
        lambda scale, seed: judge_tails(tails(scale, seed, THRESHOLD, rare=True), 1.0),
    ),
    costs={Scale.QUICK: Cost(0.5, 200), Scale.STANDARD: Cost(5, 300), Scale.PAPER: Cost(50, 300)},
)
