"""Centred binomial perturbations: anti-concentration in every direction tried, exactly."""

from math import comb

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
from ensample.perturbations import CenteredBinomial

ID = "binomial-anticoncentration"
CASES = (
    (2, 5),
    (3, 4),
    (4, 4),
    (9, 2),
    (40, 2),
)  # (trials, coordinates): at most a few thousand points


def tails(scale: Scale, seed: int, reach: float, rare: bool = False) -> Tails:
    count, draws = scale.choose((2000, 20_000), (30_000, 200_000), (300_000, 2_000_000))
    rng = generator(seed, ID)
    found: list[Exact | Sampled] = []
    for trials, dim in CASES:
        points = (2.0 * np.arange(trials + 1) - trials) / trials**0.5
        weights = np.array([comb(trials, k) for k in range(trials + 1)]) / 2.0**trials
        if rare:
            points, weights = np.append(points, 0.0), np.append(RARITY * weights, 1.0 - RARITY)
        directions = adverse_directions(rng, dim, count // dim)
        least = exact_tails(points, weights, directions, reach)
        found.append(Exact(least, len(directions), f"{trials} trials, n = {dim}"))
    draw = drawing(CenteredBinomial(3), 20, rare)
    return [
        *found,
        Sampled(
            sampled_tails(draw, adverse_directions(rng, 20, 5), draws, rng, reach), draws, "n = 20"
        ),
    ]


CLAIM = Claim(
    id=ID,
    title="Centred binomial perturbations",
    statement="centred binomial perturbations reach |u| / 3 along any direction with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i = (2B_i-n)/\sqrt n,\ B_i\sim"
    r"\mathrm{Bin}(n,\tfrac12)",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    faults=anticoncentration(tails),
    broken=mostly_zero(tails),
    costs={Scale.QUICK: Cost(0.4, 300), Scale.STANDARD: Cost(2, 300), Scale.PAPER: Cost(20, 300)},
)
