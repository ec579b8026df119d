"""Signs as perturbations: anti-concentration in every direction tried, exactly."""

import numpy as np

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
    exact_tails,
    mostly_zero,
    sampled_tails,
)
from ensample.perturbations import Rademacher

ID = "rademacher-anticoncentration"


def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    """All 2^10 sign vectors (3^6 where a perturbation may be 0) against adverse and random directions, and library draws."""
    count, draws = scale.choose((2000, 20_000), (30_000, 200_000), (300_000, 2_000_000))
    rng = generator(seed, ID)
    points, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if rare:
        points, weights = (
            np.array([-1.0, 0.0, 1.0]),
            np.array([RARITY / 2, 1.0 - RARITY, RARITY / 2]),
        )
    found: list[Exact | Sampled] = []
    for dim in (2, 3, 6) if rare else (2, 3, 6, 10):
        directions = adverse_directions(rng, dim, count // dim)
        found.append(
            Exact(exact_tails(points, weights, directions, reach), len(directions), f"n = {dim}")
        )
    draw = drawing(Rademacher(), 20, rare)
    return [
        *found,
        Sampled(
            sampled_tails(draw, adverse_directions(rng, 20, 5), draws, rng, reach), draws, "n = 20"
        ),
    ]


CLAIM = Claim(
    id=ID,
    title="Rademacher perturbations",
    statement="signs as perturbations reach |u| / 3 along any direction with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i = \pm1",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    faults=anticoncentration(tails),
    broken=mostly_zero(tails),
    note="The worst direction found has two equal coordinates, with probability 1/4: the constant 0.01 is far from tight for "
    "this law; see three-point-anticoncentration for one that is nearer.",
    costs={Scale.QUICK: Cost(0.4, 200), Scale.STANDARD: Cost(1, 200), Scale.PAPER: Cost(10, 200)},
)
