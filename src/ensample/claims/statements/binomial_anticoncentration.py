"""Centred binomial perturbations: anti-concentration in every direction tried, exactly."""

from math import comb

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, weakest
from ensample.claims.tails import RARITY, adverse_directions, exact_tail, rarely, sampled_tail
from ensample.perturbations import CenteredBinomial
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "binomial-anticoncentration"
CASES = ((2, 5), (3, 4), (4, 4), (9, 2), (40, 2))  # (trials, coordinates): at most a few thousand points


def check(scale: Scale, seed: int, rare: bool = False) -> Outcome:
    count, draws = scale.choose((2000, 20_000), (30_000, 200_000), (300_000, 2_000_000))
    rng, outcomes = generator(seed, ID), []
    for trials, dim in CASES:
        points = (2.0 * np.arange(trials + 1) - trials) / trials**0.5
        weights = np.array([comb(trials, k) for k in range(trials + 1)]) / 2.0**trials
        if rare:
            points, weights = np.append(points, 0.0), np.append(RARITY * weights, 1.0 - RARITY)
        outcomes.append(exact_tail(points, weights, adverse_directions(rng, dim, count // dim), f"{trials} trials, n = {dim}"))
    law = CenteredBinomial(3)

    def draw(rng: Generator, size: int) -> FloatArray:
        vectors = law.draw_vectors(rng, size, 20)
        return rarely(vectors, rng) if rare else vectors

    outcomes.append(sampled_tail(draw, adverse_directions(rng, 20, 5), draws, rng, CLAIM_ALARM, "n = 20"))
    return weakest(outcomes)


CLAIM = Claim(
    id=ID,
    title="Centred binomial perturbations",
    statement="centred binomial perturbations reach |u| / 3 along any direction with probability at least 0.01",
    latex=r"\mathbb{P}\big(u^\top Z \ge \tfrac13\|u\|_2\big) \ge 0.01,\quad Z_i = (2B_i-n)/\sqrt n,\ B_i\sim"
    r"\mathrm{Bin}(n,\tfrac12)",
    reference="appx:beyond gaussian",
    section=Section.LAWS,
    assumptions=("symmetric, 1-subGaussian, variance at least 1/2", "independent coordinates"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("perturbations that are 0 in 99 of 100 cases: variance 0.01", lambda scale, seed: check(scale, seed, True)),
    costs={Scale.QUICK: Cost(0.4, 300), Scale.STANDARD: Cost(2, 300), Scale.PAPER: Cost(20, 300)},
)
