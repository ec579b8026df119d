"""P(u'Z >= |u|/3) for many directions u: exactly where the law has few points, by sampling where it has not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Fault, Judge, Outcome, Scale
from ensample.claims.evidence import CLAIM_ALARM, always_at_least, probability_at_least, weakest
from ensample.perturbations import InitialLaw
from ensample.problems.families import unit_rows
from ensample.types import FloatArray, IntArray

THRESHOLD, LEAST = 1.0 / 3.0, 0.01  # P(u'Z >= |u|/3) >= 0.01
CHUNK, BLOCK = 100_000, 5_000  # draws and directions looked at together
RARITY = 0.01  # of the broken twins: how often a perturbation is not zero


def adverse_directions(rng: Generator, dim: int, count: int) -> FloatArray:
    """Unit vectors [n, dim]: single coordinates, flat ones of every length, ties, decaying ones and random ones."""
    rows = [np.r_[np.ones(k), np.zeros(dim - k)] for k in range(1, dim + 1)]
    rows += [
        np.r_[1.0, np.full(k, size), np.zeros(dim - 1 - k)]
        for k in range(1, dim)
        for size in (1e-3, 0.5, 0.999, 3.0)
    ]
    rows += [ratio ** np.arange(dim) for ratio in (0.3, 0.5, 0.8)]
    fixed = np.array(rows)
    fixed /= np.linalg.norm(fixed, axis=1, keepdims=True)
    sparse = unit_rows(rng, count, dim) ** 3  # a few coordinates carry most
    sparse /= np.linalg.norm(sparse, axis=1, keepdims=True)
    return np.vstack([fixed, unit_rows(rng, count, dim), sparse])


def exact_tails(
    points: FloatArray, weights: FloatArray, directions: FloatArray, reach: float
) -> float:
    """The least P(u'Z >= reach |u|) over directions [n, dim], by summing over all points of Z."""
    dim = directions.shape[1]
    grid = np.array(list(product(points, repeat=dim)))
    mass = np.prod(np.array(list(product(weights, repeat=dim))), axis=1)
    blocks = (directions[start : start + BLOCK] for start in range(0, len(directions), BLOCK))
    return min(float((mass @ (grid @ block.T >= reach - 1e-12)).min()) for block in blocks)


def sampled_tails(
    draw: Callable[[Generator, int], FloatArray],
    directions: FloatArray,
    draws: int,
    rng: Generator,
    reach: float,
) -> IntArray:
    """How many of n vectors Z = `draw(rng, n)` reach so far, along every direction: [n]."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    hits = sum(
        ((draw(rng, size) @ directions.T >= reach).sum(axis=0) for size in sizes),
        np.zeros(len(directions), np.int64),
    )
    return np.asarray(hits, np.int64)


@dataclass(frozen=True, eq=False)
class Exact:
    """The least probability over many directions, known exactly."""

    least: float
    directions: int
    name: str

    def judged(self, f: float, alarm: float) -> Outcome:
        detail = f"{self.name}: least {self.least:.4g} over {self.directions:,} directions, exact"
        return always_at_least(self.least, f * LEAST, self.directions, detail)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Hits along many directions: one interval a direction, the alarm split over them, the weakest speaks."""

    hits: IntArray
    draws: int
    name: str

    def judged(self, f: float, alarm: float) -> Outcome:
        worst = int(self.hits.min())  # the weakest of all intervals is that of the fewest hits
        outcome = probability_at_least(
            worst, self.draws, min(1.0, f * LEAST), alarm=alarm / self.hits.size
        )
        detail = f"{self.name}: least {worst / self.draws:.3g} over {self.hits.size:,} directions, sampled"
        return replace(outcome, sample=self.draws, detail=detail)


Tails = Sequence[Exact | Sampled]


def judge_tails(found: Tails, f: float) -> Outcome:
    """P(u'Z >= |u|/3) >= 0.01 f along every direction."""
    sampled = sum(isinstance(tail, Sampled) for tail in found)
    return weakest([tail.judged(f, CLAIM_ALARM / max(1, sampled)) for tail in found])


def anticoncentration(tails: Callable[[Scale, int, float], Tails]) -> tuple[Fault, Fault]:
    """The faults of a law whose tails(scale, seed, reach) are known: in the probability, and in the reach."""

    def measure(scale: Scale, seed: int) -> Judge:
        found = tails(scale, seed, THRESHOLD)
        return lambda f: judge_tails(found, f)

    def stretch(scale: Scale, seed: int) -> Judge:
        return lambda f: judge_tails(tails(scale, seed, f * THRESHOLD), 1.0)

    return Fault("the probability 0.01 multiplied by f", measure), Fault(
        "the reach |u|/3 multiplied by f", stretch, 10.0
    )


def rarely(draws: FloatArray, rng: Generator) -> FloatArray:
    """Every entry kept with probability RARITY and 0 otherwise: independent, symmetric, subGaussian, of little variance."""
    return np.asarray(draws * (rng.random(draws.shape) < RARITY))


def drawing(law: InitialLaw, dim: int, rare: bool) -> Callable[[Generator, int], FloatArray]:
    """Vectors of a library's law, for `sampled_tails`; `rare`, those of its broken twin."""

    def draw(rng: Generator, size: int) -> FloatArray:
        vectors = law.draw_vectors(rng, size, dim)
        return rarely(vectors, rng) if rare else vectors

    return draw


def mostly_zero(tails: Callable[[Scale, int, float, bool], Tails]) -> Broken:
    """The broken twin of a law whose tails(scale, seed, reach, rare) are known."""
    return Broken(
        "each perturbation is 0 in 99 of 100 cases, independently: variance 0.01",
        lambda scale, seed: judge_tails(tails(scale, seed, THRESHOLD, True), 1.0),
    )
