"""Uniform perturbations of variance 1: anti-concentration in every direction tried."""

import math

from ensample.claims.claim import Claim, Cost, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.tails import (
    RARITY,
    Exact,
    Sampled,
    Tails,
    adverse_directions,
    anticoncentration,
    drawing,
    mostly_zero,
    sampled_tails,
)
from ensample.perturbations import Uniform

ID = "uniform-anticoncentration"


def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """One coordinate exactly; other directions by draws of the library's law."""
    draws, random = scale.choose((20_000, 10), (1_000_000, 20), (10_000_000, 20))
    rng, law = generator(seed, ID), Uniform()
    alone = max(
        0.0, 0.5 * (1.0 - reach / math.sqrt(3.0))
    )  # P(Z >= reach), Z uniform on [-sqrt 3, sqrt 3]
    found: list[Exact | Sampled] = [Exact(alone * (RARITY if rare else 1.0), 1, "one coordinate")]
    for dim in (2, 3, 12):
        directions = adverse_directions(rng, dim, random)
        found.append(
            Sampled(
                sampled_tails(drawing(law, dim, rare), directions, draws, rng, reach),
                draws,
                f"n = {dim}",
            )
        )
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
    broken=mostly_zero(tails),
    costs={Scale.QUICK: Cost(0.5, 200), Scale.STANDARD: Cost(5, 300), Scale.PAPER: Cost(50, 300)},
)
