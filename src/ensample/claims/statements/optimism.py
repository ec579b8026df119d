"""Optimism: what makes a round optimistic, how often it happens, and when it cannot."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, log

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Judge, Outcome, Scale
from ensample.claims.evidence import (
    CLAIM_ALARM,
    Trials,
    always_at_least,
    always_at_most,
    each_at_least,
    generator,
    probability_equals,
    weakest,
)
from ensample.claims.recorded import History, Round, record, replicates, watch
from ensample.claims.regrets import TIMID
from ensample.claims.texts import claim, twin
from ensample.member_rules import UNIFORM_MEMBER, MemberRule, RoundRobin
from ensample.perturbations import P_N, Gaussian
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.problems.problem import unit_rows
from ensample.randomness import RunStream
from ensample.theory import Setting, estimator_radius, radius, sharp_size
from ensample.types import FloatArray

# perturbation-lemma: what holds of the perturbations alone is enough for the general theorem

MEMBERS = 40


def measure_lemma(scale: Scale, seed: int) -> Judge:
    """Members reaching beta |U| with |theta~|_V <= gamma~ are optimistic, within gamma~ + beta.

    In every round beta is the least that the lemma allows, the ridge error.
    """
    found = [pair for part in range(scale.choose(15, 100, 1000)) for pair in watched(seed, part)]

    def judge(f: float) -> Outcome:
        gaps = np.array([gaps_of_round(look, best, f) for look, best in found])
        members = f"{int(gaps[:, 2].sum()):,} members that meet the premise"
        detail = f"{len(found):,} rounds of {MEMBERS} members, {members}"
        promised, within = (round(float(gaps[:, n].min()), 12) for n in (0, 1))
        optimistic = always_at_least(promised, 0.0, len(found), detail)
        return weakest([optimistic, always_at_least(within, 0.0, len(found))])

    return judge


def watched(seed: int, part: int) -> list[tuple[Round, float]]:
    """Rounds of a run of the library, and the best mean."""
    id = "perturbation-lemma"
    rng = generator(seed, id, part, RunStream.PROBLEM)
    world = problem("sphere", dim=3, arms=2 + part % 5, noise=1.0).draw(rng)
    assert isinstance(world, LinearProblem)
    looks = watch(EnsembleSampling(MEMBERS, 1.5), world, 30, seed, id, part)
    return [(look, world.best_mean()) for look in looks]


def gaps_of_round(look: Round, best: float, f: float) -> tuple[float, float, float]:
    """(least promise - x*'theta*, least radius - error, count) of members that meet the premise.

    gamma~ is the median norm, so that half of the members violate it. With a fault the premise asks
    for beta / f only.
    """
    beta, gamma = look.ridge_error, float(np.median(look.norms))
    premise = (look.reach >= beta / f) & (look.norms <= gamma)
    if not premise.any():
        return 0.0, 0.0, 0.0
    surplus = float((look.promises[premise] - best).min())
    within = float((gamma + beta - look.errors[premise]).min())
    return min(0.0, surplus), within, float(premise.sum())


claim("perturbation-lemma", measure_lemma, broken=2.0)

# optimism-lemma: a perturbation large enough in one direction makes the round optimistic


def measure_optimism(scale: Scale, seed: int) -> Judge:
    """The least X_t'theta_t - x*'theta* where the premise holds, with the least c allowed.

    In runs, and in instances in which Cauchy-Schwarz is tight (theta_hat - theta* along -V^-1 x*).
    """
    runs, instances = scale.choose((4, 2000), (40, 50_000), (400, 500_000))
    histories = [
        record(seed, "optimism-lemma", part, noise=1.0, scale=1.0, rounds=200)
        for part in range(runs)
    ]

    def judge(f: float) -> Outcome:
        in_runs = np.concatenate([gains_in_run(history, 1.0 / f) for history in histories])
        tight = tight_gains(seed, instances, 1.0 / f)
        gains = np.concatenate([in_runs, tight])
        detail = f"{in_runs.size:,} optimistic members in runs, {tight.size:,} tight instances"
        return always_at_least(float(gains.min()), 0.0, gains.size, detail)

    return judge


def gains_in_run(history: History, share: float) -> FloatArray:
    """max_x x'theta^j - x*'theta* if U'Z^j >= c |U|, c = share |theta_hat - theta*|_V."""
    gains = []
    for t in range(len(history.X)):
        error = history.theta_hat[t] - history.theta
        c = share * math.sqrt(error @ history.V[t] @ error)
        width = math.sqrt(history.best @ np.linalg.solve(history.V[t], history.best))
        premise = history.theta_tilde[t] @ history.best >= c * width
        promises = (history.estimates[t] @ history.arms.T).max(axis=1)
        gains.append(promises[premise] - history.best @ history.theta)
    return np.concatenate(gains)


def tight_gains(seed: int, count: int, share: float) -> FloatArray:
    """theta~ barely meets the premise, the ridge error is as bad as c = 1 allows; one arm."""
    rng, dim = generator(seed, "optimism-lemma", 1_000_000), 3
    X = unit_rows(rng, 4 * count, dim).reshape(count, 4, dim)
    V = np.eye(dim) + np.swapaxes(X, 1, 2) @ X
    best, theta = unit_rows(rng, count, dim), unit_rows(rng, count, dim)
    direction = np.linalg.solve(V, best[:, :, None])[:, :, 0]  # V^-1 x*
    width = np.sqrt((best * direction).sum(axis=1))
    theta_hat = theta - direction / width[:, None]  # |theta_hat - theta*|_V = 1
    theta_tilde = (share / width)[:, None] * direction  # x*'theta~ = share |x*|_{V^-1}
    return np.asarray((best * (theta_hat + theta_tilde - theta)).sum(axis=1))


claim("optimism-lemma", measure_optimism, broken=2.0)

# gaussian-anticoncentration: along any direction a Gaussian exceeds its scale with probability p_N

CHUNK = 200_000


def measure_reach(scale: Scale, seed: int) -> Judge:
    """P(u'Z >= beta |u|) for Z ~ N(0, beta^2 I), along three directions."""
    chunks, beta = scale.choose(5, 50, 1000), radius(Setting(4, 12, 12, noise=0.5, norm=1.0))
    run = direction_of_run(seed)
    directions = {"one coordinate": np.ones(1), "flat": np.ones(8), "U of a run": run}
    reaches = {}
    for part, (name, u) in enumerate(directions.items()):
        rng = generator(seed, "gaussian-anticoncentration", part)
        reaches[name] = far_reaches(u / np.linalg.norm(u), beta, chunks, rng)

    def judge(f: float) -> Outcome:
        outcomes, draws, alarm = [], chunks * CHUNK, CLAIM_ALARM / len(directions)
        for name, reach in reaches.items():
            hits = int((reach >= f).sum())
            detail = f"{name} {hits / draws:.5f}"
            outcomes.append(probability_equals(hits, draws, P_N, 0.03, detail, alarm))
        return weakest(outcomes)

    return judge


def far_reaches(u: FloatArray, beta: float, chunks: int, rng: Generator) -> FloatArray:
    """u'Z / beta of all draws that reach 1: smaller scales than beta need no others."""
    law, kept = Gaussian(beta), []
    for _ in range(chunks):
        reach = law.draw(rng, (CHUNK, u.size)) @ u / beta
        kept.append(reach[reach >= 1.0])
    return np.concatenate(kept)


def direction_of_run(seed: int) -> FloatArray:
    """U after 12 rounds of ensemble sampling: [d + 12]."""
    history = record(seed, "gaussian-anticoncentration", 100, rounds=12)
    return np.asarray(np.linalg.solve(history.V[12], history.phi(12)).T @ history.best)


claim("gaussian-anticoncentration", measure_reach, broken=2.0)

# round-robin-optimism: with the members in turn, some rounds have no chance of optimism

ROBIN = Setting(dim=2, arms=2, horizon=60, noise=1.0, norm=1.0, delta=0.1)


def measure_robin(scale: Scale, seed: int, member: MemberRule | None = None) -> Judge:
    """How often a run has a round whose regret exceeds gamma |X_t| + (2 gamma/p) E|X_t|."""
    runs, rule = scale.choose(140, 500, 5000), member or RoundRobin()
    worst = np.array(replicates(partial(largest_ratio, rule, seed), runs))

    def judge(f: float) -> Outcome:
        median = f"median of the largest ratio {np.median(worst):.3g}"
        detail = f"{sharp_size(ROBIN):,} members, {ROBIN.horizon} rounds: {median}"
        return each_at_least([Trials(int((worst > f).sum()), runs, 0.9, detail)])

    return judge


def largest_ratio(rule: MemberRule, seed: int, part: int) -> float:
    """The largest regret over its bound, p = p_N / 4, with the expected width under the rule."""
    unit = EnsembleSampling.from_theorem(ROBIN).unit_scale
    recipe = EnsembleSampling(sharp_size(ROBIN), unit, member=rule)
    gamma, ratios = estimator_radius(ROBIN), []
    looks = watch(recipe, TIMID, ROBIN.horizon, seed, "round-robin-optimism", part)
    for t, look in enumerate(looks):
        weights = rule.weights(t, recipe.size, lambda: np.zeros(recipe.size))
        expected = float(weights @ look.widths / weights.sum())
        ratios.append(look.regret / (gamma * look.width + 8.0 * gamma / P_N * expected))
    return max(ratios)


claim("round-robin-optimism", measure_robin, broken=twin(measure_robin, member=UNIFORM_MEMBER))

# count-vectors: how many vectors of pull counts there are, the price of the union bound


def counts(arms: int, horizon: int) -> int:
    """Count the vectors (N_1, ..., N_K) with sum at most T - 1."""
    return comb(horizon - 1 + arms, arms)


def sequences(arms: int, horizon: int) -> int:
    """Count the sequences of arms of length at most T - 1, as a union over histories would."""
    return sum(arms**length for length in range(horizon))


def measure_counts(scale: Scale, seed: int, count: Callable[[int, int], int] = counts) -> Judge:
    """log count / log T^K over a grid, as whole numbers; for small K and T also one by one."""
    grid = [(K, T) for K in range(1, 41) for T in range(2, scale.choose(60, 200, 600) + 1)]
    numbers = {(K, T): count(K, T) for K, T in grid}
    differ = sum(enumerated(K, T) != counts(K, T) for K in range(1, 5) for T in range(1, 9))

    def judge(f: float) -> Outcome:
        factor = Fraction(f)  # whole numbers of any size are compared exactly
        above = sum(factor * numbers[K, T] > T**K for K, T in grid)
        ratio = max((log(f) + log(numbers[K, T])) / (K * log(T)) for K, T in grid)
        compared = f"{above} of {len(grid):,} pairs (K, T) above T^K"
        formula = "formula checked by enumeration for K <= 4, T <= 8"
        outcomes = [
            always_at_most(ratio, 1.0, len(grid), compared),
            always_at_most(above, 0.0, len(grid)),
            always_at_most(differ, 0.0, 32, formula),
        ]
        return weakest(outcomes)

    return judge


def enumerated(arms: int, horizon: int) -> int:
    return sum(sum(vector) <= horizon - 1 for vector in product(range(horizon), repeat=arms))


claim("count-vectors", measure_counts, broken=twin(measure_counts, count=sequences))
