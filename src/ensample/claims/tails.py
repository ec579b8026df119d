"""P(u'Z >= |u|/3) for many directions u: exactly where the law has few points, by sampling where it has not."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Outcome
from ensample.claims.evidence import always_at_least, probability_at_least, weakest
from ensample.problems.families import unit_rows
from ensample.types import FloatArray

__all__ = ["LEAST", "RARITY", "THRESHOLD", "adverse_directions", "exact_tail", "rarely", "sampled_tail"]

THRESHOLD, LEAST = 1.0 / 3.0, 0.01  # P(u'Z >= |u|/3) >= 0.01
CHUNK, BLOCK = 100_000, 5_000  # draws and directions looked at together
RARITY = 0.01  # of the broken twins: how often a perturbation is not zero


def adverse_directions(rng: Generator, dim: int, count: int) -> FloatArray:
    """Unit vectors [n, dim]: single coordinates, flat ones of every length, ties, decaying ones and random ones."""
    rows = [np.r_[np.ones(k), np.zeros(dim - k)] for k in range(1, dim + 1)]
    rows += [np.r_[1.0, np.full(k, size), np.zeros(dim - 1 - k)] for k in range(1, dim) for size in (1e-3, 0.5, 0.999, 3.0)]
    rows += [ratio ** np.arange(dim) for ratio in (0.3, 0.5, 0.8)]
    fixed = np.array(rows)
    fixed /= np.linalg.norm(fixed, axis=1, keepdims=True)
    sparse = unit_rows(rng, count, dim) ** 3  # a few coordinates carry most
    sparse /= np.linalg.norm(sparse, axis=1, keepdims=True)
    return np.vstack([fixed, unit_rows(rng, count, dim), sparse])


def exact_tail(points: FloatArray, weights: FloatArray, directions: FloatArray, detail: str) -> Outcome:
    """The least P(u'Z >= |u|/3) over directions [n, dim], by summing over all points of Z."""
    dim = directions.shape[1]
    grid = np.array(list(product(points, repeat=dim)))
    mass = np.prod(np.array(list(product(weights, repeat=dim))), axis=1)
    blocks = (directions[start : start + BLOCK] for start in range(0, len(directions), BLOCK))
    least = min(float((mass @ (grid @ block.T >= THRESHOLD - 1e-12)).min()) for block in blocks)
    return always_at_least(
        least, LEAST, len(directions), f"{detail}: least {least:.4g} over {len(directions):,} directions, exact"
    )


def sampled_tail(
    draw: Callable[[Generator, int], FloatArray],
    directions: FloatArray,
    draws: int,
    rng: Generator,
    alarm: float,
    detail: str,
) -> Outcome:
    """The same by n vectors Z = `draw(rng, n)`: one interval a direction, the alarm split over them, the weakest speaks."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    hits = sum(((draw(rng, size) @ directions.T >= THRESHOLD).sum(axis=0) for size in sizes), np.zeros(len(directions)))
    outcomes = [probability_at_least(int(count), draws, LEAST, alarm=alarm / len(directions)) for count in hits]
    detail = f"{detail}: least {hits.min() / draws:.3g} over {len(directions):,} directions, sampled"
    return replace(weakest(outcomes), sample=draws, detail=detail)


def rarely(draws: FloatArray, rng: Generator) -> FloatArray:
    """Rows kept with probability RARITY and zero otherwise: still symmetric and subGaussian, but with little variance."""
    return np.asarray(draws * (rng.random(len(draws)) < RARITY)[:, None])
