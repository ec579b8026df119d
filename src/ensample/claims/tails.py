"""P(u'Z >= |u|/3) >= 0.01 along many directions u: exact for laws with few points, or sampled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Check, Judge, Measure, Outcome, Scale
from ensample.claims.evidence import CLAIM_ALARM, always_at_least, probability_at_least, weakest
from ensample.perturbations import InitialLaw
from ensample.problems.problem import unit_rows
from ensample.types import FloatArray, IntArray

THRESHOLD, LEAST = 1.0 / 3.0, 0.01
CHUNK, BLOCK = 100_000, 5_000  # draws, and directions, that are computed together
RARITY = 0.01  # of the broken twins: how often a perturbation is not zero

Draw = Callable[[Generator, int], FloatArray]


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
    """Hits along many directions, each with its part of the alarm."""

    hits: IntArray
    draws: int
    name: str

    def judged(self, f: float, alarm: float) -> Outcome:
        worst = int(self.hits.min())  # the direction with the fewest hits has the lowest interval
        chance, alarm = min(1.0, f * LEAST), alarm / self.hits.size
        outcome = probability_at_least(worst, self.draws, chance, alarm=alarm)
        least = f"least {worst / self.draws:.3g} over {self.hits.size:,} directions, sampled"
        return replace(outcome, sample=self.draws, detail=f"{self.name}: {least}")


Tails = Sequence[Exact | Sampled]


def judge_tails(found: Tails, f: float) -> Outcome:
    """P(u'Z >= |u|/3) >= 0.01 f along every direction."""
    sampled = sum(isinstance(tail, Sampled) for tail in found)
    return weakest([tail.judged(f, CLAIM_ALARM / max(1, sampled)) for tail in found])


def faults(tails: Callable[[Scale, int, float], Tails]) -> tuple[Measure, Measure]:
    """Return the faults in the probability and in the reach of `tails(scale, seed, reach)`."""

    def probability(scale: Scale, seed: int) -> Judge:
        return partial(judge_tails, tails(scale, seed, THRESHOLD))

    def reach(scale: Scale, seed: int) -> Judge:
        return lambda f: judge_tails(tails(scale, seed, f * THRESHOLD), 1.0)

    return probability, reach


def spoiled(tails: Callable[..., Tails], **options: object) -> Check:
    """Return the check of a broken twin: `tails` with other options."""
    return lambda scale, seed: judge_tails(tails(scale, seed, THRESHOLD, **options), 1.0)


def adverse_directions(rng: Generator, dim: int, count: int) -> FloatArray:
    """Return unit vectors [n, dim]: single coordinates, flat, tied, decaying and random ones."""
    rows = [np.r_[np.ones(k), np.zeros(dim - k)] for k in range(1, dim + 1)]
    for k in range(1, dim):
        rest = np.zeros(dim - 1 - k)
        rows += [np.r_[1.0, np.full(k, size), rest] for size in (1e-3, 0.5, 0.999, 3.0)]
    rows += [ratio ** np.arange(dim) for ratio in (0.3, 0.5, 0.8)]
    fixed = np.array(rows)
    fixed /= np.linalg.norm(fixed, axis=1, keepdims=True)
    sparse = unit_rows(rng, count, dim) ** 3  # a few coordinates carry most of the length
    sparse /= np.linalg.norm(sparse, axis=1, keepdims=True)
    return np.vstack([fixed, unit_rows(rng, count, dim), sparse])


def exact_tails(
    points: FloatArray, weights: FloatArray, directions: FloatArray, reach: float
) -> float:
    """Return the least P(u'Z >= reach |u|) over directions [n, dim], by summing over all Z."""
    dim = directions.shape[1]
    grid = np.array(list(product(points, repeat=dim)))
    mass = np.prod(np.array(list(product(weights, repeat=dim))), axis=1)
    blocks = (directions[start : start + BLOCK] for start in range(0, len(directions), BLOCK))
    return min(float((mass @ (grid @ block.T >= reach - 1e-12)).min()) for block in blocks)


def sampled_tails(
    draw: Draw, directions: FloatArray, draws: int, rng: Generator, reach: float
) -> IntArray:
    """Count the vectors Z of `draw(rng, n)` that reach so far, along every direction: [n]."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    none = np.zeros(len(directions), np.int64)
    hits = (draw(rng, size) @ directions.T >= reach for size in sizes)
    return np.asarray(sum((hit.sum(axis=0) for hit in hits), none), np.int64)


def rarely(draws: FloatArray, rng: Generator) -> FloatArray:
    """Keep each entry with probability RARITY: independent, symmetric, of little variance."""
    return np.asarray(draws * (rng.random(draws.shape) < RARITY))


def drawing(law: InitialLaw, dim: int, rare: bool) -> Draw:
    """Return draws of vectors of a law; `rare`, those of its broken twin."""

    def draw(rng: Generator, size: int) -> FloatArray:
        vectors = law.draw_vectors(rng, size, dim)
        return rarely(vectors, rng) if rare else vectors

    return draw
