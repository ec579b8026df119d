"""A lower bound from the literature: on the unit ball, an ensemble of at most d/2 members never learns."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator

from ensample.arms import UnitBall
from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.watched import replicates
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.randomness import RunStream
from ensample.types import FloatArray

ID = "small-ensembles-fail-on-the-ball"
DIMS = (8, 10)
SCALE = 0.1  # of the perturbations; there is no noise, so that an ensemble that can learn learns at once


@dataclass(frozen=True)
class Rotated(Gaussian):
    """m Gaussian vectors after the rotation that brings vector i into the span of the first i + 1 axes (Bartlett's law).

    The ball, the perturbations and a parameter in a random direction look the same after any rotation, so this changes the law
    of nothing. But directions outside span(W) are now coordinates that are exactly 0, and rounding cannot leave the span.
    """

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        W = np.tril(rng.standard_normal((size, dim)), -1)
        for i in range(min(size, dim)):
            W[i, i] = math.sqrt(rng.chisquare(dim - i))
        return self.scale * W


def measure(scale: Scale, seed: int, members: Callable[[int], int] = lambda dim: dim // 2) -> Judge:
    """How often R_n >= n/4 for all n up to a horizon, no action having left the span of the members' W."""
    rounds, runs = scale.choose(100, 400, 4000), scale.choose(250, 1500, 3000)
    found = {}
    for place, dim in enumerate(DIMS):
        size = members(dim)
        played = replicates(partial(slowest, dim, size, rounds, seed), runs, first=place * 10**6)
        outside = max(part for _, part in played)
        said = f"d = {dim}, m = {size}, n <= {rounds}: largest part of an action outside span(W) {outside:.2g}"
        found[said] = np.array([rate if part == 0.0 else 0.0 for rate, part in played])
    drawn = figure(scale, seed)

    def judge(f: float) -> Outcome:
        outcomes = []
        for said, rates in found.items():
            failed = int((rates >= 0.25 * f).sum())
            outcomes.append(probability_at_least(failed, runs, 0.5, said, CLAIM_ALARM / len(DIMS)))
        return replace(weakest(outcomes), figure=drawn)

    return judge


def regrets(dim: int, size: int, rounds: int, seed: int, part: int) -> tuple[FloatArray, float]:
    """R_1, ..., R_n of one run without noise, and the largest part of an action beyond the first m axes."""
    theta = generator(seed, ID, part, RunStream.PROBLEM).standard_normal(dim)
    theta /= np.linalg.norm(theta)
    recipe = EnsembleSampling(size, SCALE, initial=Rotated(SCALE))
    policy = recipe.start(UnitBall(dim), int(generator(seed, ID, part).integers(1 << 62)))
    lost, outside = np.empty(rounds), 0.0
    for t in range(rounds):
        x = policy.decide().features
        mean = float(x @ theta)
        policy.update(x, mean)
        lost[t] = 1.0 - mean
        outside = max(outside, float(np.linalg.norm(x[size:])))
    return np.cumsum(lost), outside


def slowest(dim: int, size: int, rounds: int, seed: int, part: int) -> tuple[float, float]:
    """The least R_n / n of a run, and how far its actions left the span."""
    regret, outside = regrets(dim, size, rounds, seed, part)
    return float((regret / np.arange(1, rounds + 1)).min()), outside


def figure(scale: Scale, seed: int) -> Figure:
    """Regret a round, for ensembles below and above the dimension."""
    dim, rounds, runs = DIMS[-1], scale.choose(100, 400, 1000), 20
    shown = np.unique(np.geomspace(1, rounds, 30).round().astype(np.int64))
    x = tuple(shown.astype(float).tolist())
    curves = []
    for size in (dim // 2, dim, 2 * dim, 10 * dim):
        parts = (10**7 + size * 1000 + r for r in range(runs))
        mean = np.mean([regrets(dim, size, rounds, seed, part)[0] for part in parts], axis=0)
        curves.append(Curve(f"m = {size}", x, tuple((mean[shown - 1] / shown).tolist())))
    curves.append(Curve("1/4", (x[0], x[-1]), (0.25, 0.25), bound=True))
    return Figure(
        f"Regret a round on the unit ball, d = {dim}",
        "round",
        "regret / n",
        tuple(curves),
        log_x=True,
    )


CLAIM = Claim(
    id=ID,
    title="Small ensembles fail on the ball",
    statement="on the unit ball with m <= d/2, R_n >= n/4 for all n with probability at least 1/2",
    latex=r"m \le d/2:\quad X_t \in \mathrm{span}(W^1, \dots, W^m),\quad \mathbb{P}(\forall n:\ R_n \ge n/4) \ge \tfrac12",
    reference="Janz, Akhavan and Szepesvari 2026",
    section=Section.LITERATURE,
    assumptions=(
        "arms: the unit ball",
        "theta* a unit vector in a random direction",
        "Gaussian perturbations, no noise here",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the regret n/4 multiplied by f", measure),),
    broken=Broken(
        "twice the dimension: m = 2d",
        lambda scale, seed: measure(scale, seed, lambda dim: 2 * dim)(SOUND),
    ),
    note="True in exact arithmetic. In floating point, rounding errors outside span(W) grow by about 1 + y/|theta| a round, "
    "and a small ensemble breaks free after 60 to 100 rounds. The check turns the coordinates so that axes span it; "
    "then what is outside is exactly 0 and stays so.",
    costs={Scale.QUICK: Cost(2.5), Scale.STANDARD: Cost(40), Scale.PAPER: Cost(800)},
)
