"""The general regret bound: for LinUCB, round by round, and the lemmas that it rests on."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import (
    CLAIM_ALARM,
    Trials,
    always_at_least,
    always_at_most,
    cell,
    each_at_least,
    generator,
    probability_equals,
    weakest,
)
from ensample.claims.recorded import watch
from ensample.claims.texts import claim
from ensample.perturbations import P_N, Gaussian
from ensample.policies import EnsembleSampling, Greedy, LinUCB, Recipe
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.problems.problem import unit_rows
from ensample.randomness import RunStream
from ensample.simulation import Runs, simulate
from ensample.theory import Setting, radius, ucb_bound
from ensample.types import FloatArray

# general-theorem-linucb: the theorem at its simplest, since LinUCB is always optimistic

# The first arm pays a little, so that a policy without optimism never tries the second.
TWO_ARMS = LinearProblem(FiniteArms([[1.0, 0.0], [0.0, 1.0]]), [0.1, 1.0], 0.05)
# Of two arms that promise the same the first is played: one round costs 2S, a sixth of the bound.
LINE = LinearProblem(FiniteArms([[-1.0], [1.0]]), [1.0], 0.0)


def measure_linucb(scale: Scale, seed: int) -> Judge:
    """The share of runs with regret below B(2 beta_T, 1), on three problems."""
    found = []
    for setting, world in linucb_problems(scale):
        runs = play(LinUCB.from_theorem(setting), setting, world, scale, seed)
        found.append((setting, runs))
    figure = linucb_figure(*found[1])
    return lambda f: replace(linucb_outcome(found, f), figure=figure)


def linucb_problems(scale: Scale) -> list[tuple[Setting, Problem | Family]]:
    """Two arms on which a greedy policy fails, random arms, and a line."""
    horizon = scale.choose(10_000, 30_000, 200_000)
    sphere = problem("sphere", dim=5, arms=30, noise=0.3)
    return [
        (Setting(2, 2, horizon, noise=0.05, norm=1.01**0.5), TWO_ARMS),
        (Setting(5, 30, horizon // 5, noise=0.3, norm=1.0), sphere),
        (Setting(1, 2, 1, noise=0.0, norm=1.0), LINE),
    ]


def play(
    recipe: Recipe, setting: Setting, world: Problem | Family, scale: Scale, seed: int
) -> Runs:
    runs, place = scale.choose(200, 1000, 5000), cell("general-theorem-linucb")
    return simulate(recipe, world, setting.horizon, runs, seed, cell=place)


def linucb_outcome(found: list[tuple[Setting, Runs]], f: float) -> Outcome:
    """P(R(T) <= B(2 beta_T, 1) / f) >= 1 - 2 delta."""
    trials = []
    for setting, runs in found:
        guarantee, regret = LinUCB.from_theorem(setting).guarantee(setting), runs.regret[:, -1]
        bound = guarantee.bound / f
        largest = f"largest regret {regret.max() / bound:.3g} of the bound"
        detail = f"d = {setting.dim}, T = {setting.horizon:,}: {largest}"
        below = int((regret <= bound).sum())
        trials.append(Trials(below, regret.size, guarantee.probability, detail))
    return each_at_least(trials)


def narrow(scale: Scale, seed: int) -> Judge:
    """On the two arms, with a smaller radius of confidence."""
    setting, world = linucb_problems(scale)[0]

    def judge(f: float) -> Outcome:
        recipe = LinUCB(radius(setting) / f, setting.regularization)
        return linucb_outcome([(setting, play(recipe, setting, world, scale, seed))], 1.0)

    return judge


def greedy(scale: Scale, seed: int) -> Outcome:
    setting, world = linucb_problems(scale)[0]
    return linucb_outcome([(setting, play(Greedy(1.0), setting, world, scale, seed))], 1.0)


def linucb_figure(setting: Setting, runs: Runs) -> Figure:
    rounds = runs.checkpoints
    bound = [ucb_bound(replace(setting, horizon=int(t))) for t in rounds]
    curves = (
        curve("mean regret", rounds, runs.mean),
        curve("B(2 beta_T, 1)", rounds, bound, bound=True),
    )
    return Figure("LinUCB, d = 5, 30 arms", "rounds", "regret", curves, log_x=True, log_y=True)


claim("general-theorem-linucb", measure_linucb, narrow, broken=greedy)

# general-theorem-rounds: optimism with probability p is worth a factor 2/p


def measure_rounds(scale: Scale, seed: int) -> Judge:
    """The largest regret over its bound, at the least gamma and largest p that a round allows.

    In rounds of runs with small ensembles, and in tight ones. With a fault, 2/p is divided by f.
    """
    runs, instances = scale.choose((20, 400), (200, 20_000), (2000, 200_000))
    in_runs = [rounds_of_run(seed, part) for part in range(runs)]
    terms = np.vstack([*in_runs, tight_rounds(seed, instances)])

    def judge(f: float) -> Outcome:
        regret, played, expected = terms.T
        ratios = regret / (played + expected / f)
        largest = f"at most {ratios[:-instances].max():.2g} of the bound"
        detail = f"{len(terms) - instances:,} rounds of runs, {largest}; {instances:,} made for it"
        return always_at_most(float(ratios.max()), 1.0, len(terms), detail)

    return judge


def rounds_of_run(seed: int, part: int) -> FloatArray:
    """(regret, gamma |X_t|, (2 gamma/p) mean |x^j|) of rounds with an optimistic member: [n, 3]."""
    id = "general-theorem-rounds"
    family = problem("sphere", dim=3, arms=6, noise=1.0)
    world = family.draw(generator(seed, id, part, RunStream.PROBLEM))
    assert isinstance(world, LinearProblem)
    rows = []
    for look in watch(EnsembleSampling(12, 1.0), world, 30, seed, id, part):
        optimistic, gamma = look.promises >= world.best_mean(), float(look.errors.max())
        if optimistic.any():
            bound = 2.0 * gamma / float(optimistic.mean()) * float(look.widths.mean())
            rows.append((look.regret, gamma * look.width, bound))
    return np.array(rows).reshape(-1, 3)


def tight_rounds(seed: int, count: int) -> FloatArray:
    """The same in rounds where Markov's inequality is tight: one of m members is barely optimistic.

    It likes x*. The others like the arm 0, and are no farther from theta* than that takes:
    theta* - (x*'theta* / |x*|^2) V^-1 x*, with the norm of V^-1, and a little more.
    """
    rng = generator(seed, "general-theorem-rounds", 10**6)
    rows = []
    for _ in range(count):
        members, X = int(rng.integers(2, 50)), unit_rows(rng, 6, 3)
        V, best = np.eye(3) + X[1:].T @ X[1:], X[0]
        direction = np.linalg.solve(V, best)
        theta = rng.uniform(0.1, 1.0) * best
        gap, square = float(best @ theta), float(best @ direction)
        estimates = np.tile(theta - (1.0 + 1e-9) * gap / square * direction, (members, 1))
        estimates[0] = (1.0 + 1e-9) * theta
        likes = estimates @ best > 0.0  # otherwise the arm 0, of width 0
        gamma = math.sqrt(max(float(error @ V @ error) for error in estimates - theta))
        optimistic = np.where(likes, estimates @ best, 0.0) >= gap
        expected = float(likes.mean()) * math.sqrt(square)
        rows.append((gap, 0.0, 2.0 * gamma / float(optimistic.mean()) * expected))
    return np.array(rows)


claim("general-theorem-rounds", measure_rounds, broken=10.0)

# g-nonnegative: no estimate within gamma promises less than the most pessimistic one

DIM, ARMS, STEPS = 3, 6, 400


class Ellipsoid(NamedTuple):
    """Estimates within gamma of theta*, with V = LL', and the most pessimistic of them."""

    means: FloatArray  # x'theta* [K]
    whitened: FloatArray  # L^-1 x: |y|_{V^-1} is the length of L^-1 y [K, d]
    gamma: float
    toward: FloatArray  # direction of the most pessimistic estimate, whitened, of length 1 [d]
    lowest: float  # what it promises, from the dual: at most J(theta^-)


def measure_pessimism(scale: Scale, seed: int) -> Judge:
    """The least J(theta) - J(theta^-) over theta within gamma of theta*.

    J(theta^-) = min over the ellipsoid of max_x x'theta is found from the other side, as the
    largest value of y'theta* - gamma |y|_{V^-1} over mixtures y of arms: for every mixture it is at
    most J(theta), which is the lemma. With a fault, theta is f gamma away.
    """
    rng = generator(seed, "g-nonnegative")
    found = [draw_ellipsoid(rng) for _ in range(scale.choose(60, 1000, 10_000))]
    directions = unit_rows(rng, 200, DIM)

    def judge(f: float) -> Outcome:
        gaps = [least_gap(ellipsoid, directions, f) for ellipsoid in found]
        detail = f"{len(found):,} ellipsoids, 200 random points and the most pessimistic of each"
        return always_at_least(round(min(gaps), 9), 0.0, 201 * len(found), detail)

    return judge


def draw_ellipsoid(rng: Generator) -> Ellipsoid:
    X, theta = unit_rows(rng, ARMS, DIM), unit_rows(rng, 1, DIM)[0]
    root = np.linalg.cholesky(np.eye(DIM) + X.T @ np.diag(rng.integers(0, 20, ARMS)) @ X)
    means, whitened, gamma = X @ theta, np.linalg.solve(root, X.T).T, float(rng.uniform(0.2, 5.0))
    mixture = most_pessimistic(means, whitened, gamma)
    y = mixture @ whitened
    length = float(np.linalg.norm(y))
    return Ellipsoid(means, whitened, gamma, -y / length, float(mixture @ means) - gamma * length)


def least_gap(ellipsoid: Ellipsoid, directions: FloatArray, f: float) -> float:
    """The least J(theta* + f gamma u) - J(theta^-) over unit vectors u."""
    points = f * ellipsoid.gamma * np.vstack([directions, ellipsoid.toward])
    promises = (ellipsoid.means + points @ ellipsoid.whitened.T).max(axis=1)
    return float(promises.min() - ellipsoid.lowest)


def most_pessimistic(means: FloatArray, whitened: FloatArray, gamma: float) -> FloatArray:
    """Maximise y'theta* - gamma |y| over mixtures by exponentiated gradient: weights [K]."""
    weights = np.full(means.size, 1.0 / means.size)
    best, value = weights, -np.inf
    for step in range(STEPS):
        y = weights @ whitened
        length = float(np.linalg.norm(y)) + 1e-300
        now = float(weights @ means) - gamma * length
        best, value = (weights, now) if now > value else (best, value)
        gradient = means - gamma * whitened @ y / length
        rise = (gradient - gradient.max()) / (1.0 + gamma)
        weights = weights * np.exp(rise * 4.0 / (1.0 + step) ** 0.5)
        weights /= weights.sum()
    return best


claim("g-nonnegative", measure_pessimism, broken=2.0)

# role-of-the-second-event: an ensemble may have no optimistic member at all

SIZES = (2, 6, 12)
TOLERANCE = 0.1


def measure_second_event(scale: Scale, seed: int) -> Judge:
    """How often none of m members reaches beta |U| before the first round, U = x* / sqrt(lam)."""
    ensembles = scale.choose(60_000, 400_000, 4_000_000)
    missing = {size: int((farthest(size, ensembles, seed) < 1.0).sum()) for size in SIZES}

    def judge(f: float) -> Outcome:
        outcomes, alarm = [], CLAIM_ALARM / len(SIZES)
        for size, count in missing.items():
            chance = (1.0 - min(1.0, f * P_N)) ** size
            detail = f"m = {size}: {count / ensembles:.4f}"
            outcomes.append(probability_equals(count, ensembles, chance, TOLERANCE, detail, alarm))
        return weakest(outcomes)

    return judge


def farthest(size: int, ensembles: int, seed: int) -> FloatArray:
    """max_j U'Z^j / (beta |U|) of many ensembles: [ensembles]."""
    rng, u = generator(seed, "role-of-the-second-event", size), np.full(4, 0.5)
    reach = np.full(ensembles, -np.inf)
    for _ in range(size):
        np.maximum(reach, Gaussian().draw_vectors(rng, ensembles, 4) @ u, out=reach)
    return reach


def fresh(scale: Scale, seed: int) -> Outcome:
    """With fresh perturbations the chance given the past is always p_N: the event never happens."""
    ensembles, chance = scale.choose(60_000, 400_000, 4_000_000), (1.0 - P_N) ** SIZES[0]
    detail = "fresh perturbations: the chance is p_N always"
    return probability_equals(0, ensembles, chance, TOLERANCE, detail)


claim("role-of-the-second-event", measure_second_event, broken=fresh)
