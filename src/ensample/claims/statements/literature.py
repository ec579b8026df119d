"""Results from the literature: small ensembles on the unit ball, and the trap without inflation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator

from ensample.arms import UnitBall
from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import Trials, cell, each_at_least, generator
from ensample.claims.recorded import replicates
from ensample.claims.texts import claim, twin
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.problems import problem, setting_of
from ensample.randomness import RunStream
from ensample.simulation import simulate
from ensample.theory import radius
from ensample.types import FloatArray

# small-ensembles-fail-on-the-ball: an ensemble of at most d/2 members never learns

BALL = "small-ensembles-fail-on-the-ball"
BALL_DIMS = (8, 10)
SCALE = 0.1  # of the perturbations; without noise an ensemble that can learn learns at once


@dataclass(frozen=True)
class Rotated(Gaussian):
    """m Gaussian vectors, rotated so that vector i is in the span of the first i + 1 axes.

    This is Bartlett's law. The ball, the perturbations and a parameter in a random direction look
    the same after any rotation, so no law changes. But directions outside span(W) are now
    coordinates that are exactly 0, and rounding cannot leave the span.
    """

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        W = np.tril(rng.standard_normal((size, dim)), -1)
        for i in range(min(size, dim)):
            W[i, i] = math.sqrt(rng.chisquare(dim - i))
        return self.scale * W


def measure_ball(scale: Scale, seed: int, members_per_dimension: float = 0.5) -> Judge:
    """How often R_n >= n/4 for all n up to a horizon, with all actions in the span of the W."""
    rounds, runs = scale.choose(100, 400, 4000), scale.choose(250, 1500, 3000)
    found = {}
    for place, dim in enumerate(BALL_DIMS):
        size = int(members_per_dimension * dim)
        played = replicates(partial(slowest, dim, size, rounds, seed), runs, place * 10**6)
        outside = max(part for _, part in played)
        name = f"d = {dim}, m = {size}, n <= {rounds}"
        detail = f"{name}: largest part of an action outside span(W) {outside:.2g}"
        found[detail] = np.array([rate if part == 0.0 else 0.0 for rate, part in played])
    figure = ball_figure(scale, seed)

    def judge(f: float) -> Outcome:
        trials = []
        for detail, rates in found.items():
            trials.append(Trials(int((rates >= 0.25 * f).sum()), runs, 0.5, detail))
        return replace(each_at_least(trials), figure=figure)

    return judge


def regrets(dim: int, size: int, rounds: int, seed: int, part: int) -> tuple[FloatArray, float]:
    """R_1, ..., R_n of one run, and the largest part of an action beyond the first m axes."""
    theta = generator(seed, BALL, part, RunStream.PROBLEM).standard_normal(dim)
    theta /= np.linalg.norm(theta)
    recipe = EnsembleSampling(size, SCALE, initial=Rotated(SCALE))
    policy = recipe.start(UnitBall(dim), int(generator(seed, BALL, part).integers(1 << 62)))
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


def ball_figure(scale: Scale, seed: int) -> Figure:
    """Regret a round, for ensembles below and above the dimension."""
    dim, rounds, runs = BALL_DIMS[-1], scale.choose(100, 400, 1000), 20
    shown = np.unique(np.geomspace(1, rounds, 30).round().astype(np.int64))
    curves = []
    for size in (dim // 2, dim, 2 * dim, 10 * dim):
        parts = (10**7 + size * 1000 + r for r in range(runs))
        mean = np.mean([regrets(dim, size, rounds, seed, part)[0] for part in parts], axis=0)
        curves.append(curve(f"m = {size}", shown, mean[shown - 1] / shown))
    curves.append(curve("1/4", (shown[0], shown[-1]), (0.25, 0.25), bound=True))
    title = f"Regret a round on the unit ball, d = {dim}"
    return Figure(title, "round", "regret / n", tuple(curves), log_x=True)


claim(BALL, measure_ball, broken=twin(measure_ball, members_per_dimension=2.0))

# uninflated-trap: at scale 1 an ensemble can stay on the wrong arm for good

TRAP_DIMS = (50, 100)
MEMBERS = 10_000
WRONG = 0.9  # of the rounds
OFTEN = 0.8  # of the runs


def measure_trap(scale: Scale, seed: int) -> Judge:
    """How often at least 90% of the rounds go to the wrong arm, at scale 1 = sigma."""
    shares = wrong_shares(scale, seed, {dim: 1.0 for dim in TRAP_DIMS})
    figure = trap_figure(seed)
    return lambda f: replace(often_wrong(shares, f * WRONG), figure=figure)


def wrong_shares(scale: Scale, seed: int, scales: Mapping[int, float]) -> dict[str, FloatArray]:
    """The share of wrong rounds of each run, for each dimension."""
    runs = scale.choose(110, 400, 4000)
    return {
        f"d = {dim}, scale {size:.3g}": wrong_share(dim, size, trap_horizon(scale), runs, seed)
        for dim, size in scales.items()
    }


def often_wrong(shares: Mapping[str, FloatArray], wrong: float) -> Outcome:
    trials = []
    for name, share in shares.items():
        detail = f"{name}: wrong in {share.mean():.1%} of the rounds"
        trials.append(Trials(int((share >= wrong).sum()), share.size, OFTEN, detail))
    return each_at_least(trials)


def inflate(scale: Scale, seed: int) -> Judge:
    """In the fewer dimensions, at a scale of f."""
    return lambda f: often_wrong(wrong_shares(scale, seed, {TRAP_DIMS[0]: f}), WRONG)


def inflate_fully(scale: Scale, seed: int) -> Outcome:
    """At beta_T."""
    scales = {dim: inflated_scale(dim, trap_horizon(scale)) for dim in TRAP_DIMS}
    return often_wrong(wrong_shares(scale, seed, scales), WRONG)


def trap_horizon(scale: Scale) -> int:
    return scale.choose(500, 5000, 5000)


def inflated_scale(dim: int, horizon: int) -> float:
    return radius(setting_of(problem("trap", dim=dim), horizon))


def wrong_share(dim: int, scale: float, horizon: int, runs: int, seed: int) -> FloatArray:
    """The share of rounds on the arm 0, whose mean is 0 where the other's is positive: [runs]."""
    recipe, place = EnsembleSampling(MEMBERS, scale), cell(f"uninflated-trap {dim} {scale}")
    trap = problem("trap", dim=dim)
    pulls = simulate(recipe, trap, horizon, runs, seed, checkpoints=1, cell=place).pulls
    assert pulls is not None
    return pulls[:, 0] / horizon


def trap_figure(seed: int) -> Figure:
    """The share of wrong rounds over the dimension, at scale 1 and at beta_T."""
    dims, horizon = (5, 10, 25, 50), 500

    def mean_share(dim: int, scale: float) -> float:
        return float(wrong_share(dim, scale, horizon, 20, seed).mean())

    plain = [mean_share(dim, 1.0) for dim in dims]
    wide = [mean_share(dim, inflated_scale(dim, horizon)) for dim in dims]
    curves = curve("scale 1", dims, plain), curve("scale beta_T", dims, wide)
    return Figure("Rounds on the wrong arm", "d", "share", curves, log_x=True)


claim("uninflated-trap", measure_trap, inflate, broken=inflate_fully)
