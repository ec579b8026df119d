"""Rates of the regret: in the horizon, in the dimension, in the ensemble's size and in the arms."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Curve, Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import CLAIM_ALARM, cell, slope_at_most, weakest
from ensample.claims.texts import claim, twin
from ensample.policies import EnsembleSampling, Recipe
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.simulation import simulate
from ensample.theory import Setting, radius, sharp_size, theorem_bound
from ensample.types import FloatArray


def strengthened(setting: Setting, strength: float, size: int | None = None) -> EnsembleSampling:
    """Return the theorem's recipe with its perturbations multiplied by `strength`."""
    theorem = EnsembleSampling.from_theorem(setting)
    return EnsembleSampling(size or theorem.size, strength * theorem.unit_scale)


def final_regret(
    recipe: Recipe, world: Problem | Family, horizon: int, runs: int, seed: int, address: str
) -> FloatArray:
    """R(T): [runs]."""
    place = cell(address)
    return simulate(recipe, world, horizon, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def slope_of_means(
    sizes: Sequence[int], regrets: FloatArray, group: int, exponent: float, detail: str
) -> Judge:
    """Judge the slope of regrets [sizes, runs]; a fault multiplies the regret of the last size.

    The mean of a group of runs is one replicate.
    """
    means = regrets.reshape(len(sizes), -1, group).mean(axis=2).T
    last, x = np.arange(len(sizes)) == len(sizes) - 1, np.array(sizes, float)
    return lambda f: slope_at_most(x, np.where(last, f, 1.0) * means, exponent, detail)


def drawn(judge: Judge, figure: Figure) -> Judge:
    return lambda f: replace(judge(f), figure=figure)


def log_figure(title: str, x_label: str, curves: Sequence[Curve]) -> Figure:
    return Figure(title, x_label, "regret", tuple(curves), log_x=True, log_y=True)


# rate-in-horizon

BEST = 0.7  # mean of the better of two arms
WIDEST = 1.4  # gap: -0.7 against 0.7


def measure_horizon(scale: Scale, seed: int, strength: float = 1.0) -> Judge:
    """The slope in T of sup_gap R(T) / (B(T) / sqrt T), with a supremum for each replicate."""
    horizons = scale.choose(
        (1000, 6000, 32_000), (1000, 16_000, 256_000), (1000, 64_000, 4_000_000)
    )
    runs, gaps = scale.choose(28, 48, 48), gaps_up_to(horizons[-1])
    settings = [two_arms(T) for T in horizons]
    regrets = np.array(
        [[gap_regret(setting, gap, runs, seed, strength) for gap in gaps] for setting in settings]
    )  # [T, gaps, runs]
    worst, x = regrets.max(axis=1).T, np.array(horizons, float)  # [runs, T]
    bounds = np.array([theorem_bound(setting) for setting in settings])
    own = np.polyfit(np.log(x), np.log(worst.mean(axis=0)), 1)[0]
    whole = np.polyfit(np.log(x), np.log(bounds), 1)[0]
    means = regrets.mean(axis=2)
    worst_gaps = ", ".join(f"{gaps[place]:.2g}" for place in means.argmax(axis=1))
    detail = (
        f"the regret's own slope {own:.3f}, that of the bound with its logarithms {whole:.3f}, "
        f"worst gaps {worst_gaps}"
    )
    relative = worst / (bounds / np.sqrt(x))
    figure = horizon_figure(x, means, bounds, gaps)
    return drawn(lambda f: slope_at_most(x, relative, 0.5 / f, detail), figure)


def gaps_up_to(horizon: int) -> tuple[float, ...]:
    """Halve the widest gap until it is below the worst one, about beta_T / sqrt(T)."""
    least = 0.5 * radius(two_arms(horizon)) / math.sqrt(horizon)
    return tuple(WIDEST * 0.5**k for k in range(math.ceil(math.log2(WIDEST / least)) + 1))


def two_arms(horizon: int) -> Setting:
    return Setting(dim=2, arms=2, horizon=horizon, noise=1.0, norm=1.0)


def gap_regret(setting: Setting, gap: float, runs: int, seed: int, strength: float) -> FloatArray:
    """R(T) on two arms, the worse one first: [runs]."""
    world = LinearProblem(FiniteArms(np.eye(2)), [BEST - gap, BEST], 1.0)
    recipe, address = strengthened(setting, strength), f"rate-in-horizon {setting.horizon} {gap}"
    return final_regret(recipe, world, setting.horizon, runs, seed, address)


def horizon_figure(
    horizons: FloatArray, regrets: FloatArray, bounds: FloatArray, gaps: tuple[float, ...]
) -> Figure:
    """Mean regret for some gaps, their supremum, and the bound moved down to its first point."""
    x, worst = horizons, regrets.max(axis=1)
    shift, shown = worst[0] / bounds[0], (0, 2, len(gaps) - 1)
    curves = [
        *(curve(f"gap {gaps[k]:.2g}", x, regrets[:, k]) for k in shown),
        curve("worst gap", x, worst),
        curve(f"bound / {1 / shift:,.0f}", x, bounds * shift, bound=True),
        curve("sqrt T", x, worst[0] * np.sqrt(x / x[0]), bound=True),
    ]
    return log_figure("Regret over the horizon, two arms", "horizon", curves)


claim("rate-in-horizon", measure_horizon, broken=twin(measure_horizon, strength=100.0))

# rate-in-dimension

DIMS = (2, 4, 8, 16)
RANDOM_ARMS, RANDOM_NOISE = 50, 0.1
LEARNS = 0.85  # of the exponent in t from T/8 on: below 1 for an algorithm that learns
PARTS = 8


def measure_dimension(scale: Scale, seed: int) -> Judge:
    """The log-log slope of R(T) in d, and in every dimension that of R(t) in t from T/8 to T."""
    regrets = regrets_by_dimension(scale, seed, 1.0)
    last = np.array([regret[:, -1].mean() for regret in regrets])
    bounds = np.array([theorem_bound(random_arms(dim, scale)) for dim in DIMS])
    return drawn(lambda f: slopes(regrets, f), dimension_figure(last, bounds))


def slopes(regrets: list[FloatArray], f: float) -> Outcome:
    """Judge regrets [replicates, (T/8, T)] of each dimension."""
    alarm, parts = CLAIM_ALARM / (1 + len(DIMS)), np.array([1.0, PARTS])
    growth = np.array([regret[:, -1] for regret in regrets]).T
    outcomes = [slope_at_most(np.array(DIMS, float), growth, 1.5 / f, "in d", alarm)]
    for dim, regret in zip(DIMS, regrets, strict=True):
        outcomes.append(slope_at_most(parts, regret, LEARNS, f"in t, d = {dim}", alarm))
    return weakest(outcomes)


def random_arms(dim: int, scale: Scale) -> Setting:
    return Setting(dim, RANDOM_ARMS, scale.choose(3000, 30_000, 300_000), RANDOM_NOISE, 1.0)


def regrets_by_dimension(scale: Scale, seed: int, strength: float) -> list[FloatArray]:
    """R(T/8) and R(T) on fresh problems for each dimension: [groups, 2], the means of four runs."""
    runs, found = 4 * scale.choose(25, 40, 40), []
    for dim in DIMS:
        setting = random_arms(dim, scale)
        world = problem("sphere", dim=dim, arms=RANDOM_ARMS, noise=RANDOM_NOISE)
        recipe, rounds = strengthened(setting, strength), setting.horizon
        place = cell(f"rate-in-dimension {dim}")
        played = simulate(recipe, world, rounds, runs, seed, checkpoints=PARTS, cell=place)
        early = int(np.searchsorted(played.checkpoints, rounds // PARTS))
        found.append(played.regret[:, [early, -1]].reshape(-1, 4, 2).mean(axis=1))
    return found


def dimension_figure(regrets: FloatArray, bounds: FloatArray) -> Figure:
    """Mean regret, and the lines that it is compared with, from its first point."""
    x, start = np.array(DIMS, float), float(regrets[0])
    lines = {
        "d^(3/2)": start * (x / x[0]) ** 1.5,
        "sqrt d": start * (x / x[0]) ** 0.5,
        f"bound / {bounds[0] / start:,.0f}": bounds * start / bounds[0],
    }
    curves = [curve("mean regret", x, regrets)]
    curves += [curve(name, x, y, bound=True) for name, y in lines.items()]
    return log_figure("Regret over the dimension", "d", curves)


def strengthen(scale: Scale, seed: int) -> Judge:
    return lambda f: slopes(regrets_by_dimension(scale, seed, f), 1.0)


def weaken(scale: Scale, seed: int) -> Judge:
    return lambda f: slopes(regrets_by_dimension(scale, seed, 1.0 / f), 1.0)


claim("rate-in-dimension", measure_dimension, strengthen, weaken, broken=twin(strengthen, f=100.0))

# no-dependence-on-size

PAIR = Setting(dim=2, arms=2, horizon=1000, noise=0.1, norm=1.0)
PAIR_PROBLEM = LinearProblem(FiniteArms(np.eye(2)), [0.4, 0.8], 0.1)


def measure_size(scale: Scale, seed: int, inflated: bool = False) -> Judge:
    """The log-log slope of R(T) in the size, at m, 2 m and 4 m members, all fewer than T."""
    runs, prescribed = 10 * scale.choose(60, 600, 6000), sharp_size(PAIR)
    sizes = (prescribed, 2 * prescribed, 4 * prescribed)
    strengths = [size / prescribed if inflated else 1.0 for size in sizes]
    pairs = zip(sizes, strengths, strict=True)
    regrets = np.array([size_regret(size, strength, runs, seed) for size, strength in pairs])
    means = ", ".join(f"{mean:.2f}" for mean in regrets.mean(axis=1))
    detail = f"mean regret {means} with {', '.join(map(str, sizes))} members"
    return drawn(slope_of_means(sizes, regrets, 10, 0.1, detail), size_figure(seed))


def size_regret(size: int, strength: float, runs: int, seed: int) -> FloatArray:
    recipe, address = strengthened(PAIR, strength, size), f"no-dependence-on-size {size}"
    return final_regret(recipe, PAIR_PROBLEM, PAIR.horizon, runs, seed, address)


def size_figure(seed: int) -> Figure:
    """Mean regret over the size: the bound is the same for all."""
    prescribed = sharp_size(PAIR)
    sizes = [1, 3, 10, 30, 100, prescribed, 10 * prescribed, 100 * prescribed]
    means = [size_regret(size, 1.0, 100, seed).mean() for size in sizes]
    bound, trivial = [theorem_bound(PAIR)] * 3, [2.0 * PAIR.norm * PAIR.horizon] * len(sizes)
    curves = (
        curve("mean regret", sizes, means),
        curve("2ST", sizes, trivial, bound=True),
        curve("bound of Theorem 1, from the prescribed m on", sizes[-3:], bound, bound=True),
    )
    return log_figure(f"Regret over the ensemble's size, T = {PAIR.horizon}", "members", curves)


claim("no-dependence-on-size", measure_size, broken=twin(measure_size, inflated=True))

# no-dependence-on-arms

ARMS = (8, 24, 72)
DIM, HORIZON, NOISE = 3, 1000, 0.3


def measure_arms(scale: Scale, seed: int, together: bool = True) -> Judge:
    """The log-log slope of R(T) in K, with the theorem's constants for each K."""
    runs = 4 * scale.choose(40, 160, 800)
    regrets = np.array([arms_regret(arms, together, runs, seed) for arms in ARMS])
    means = ", ".join(f"{mean:.1f}" for mean in regrets.mean(axis=1))
    detail = f"mean regret {means} for {', '.join(map(str, ARMS))} arms"
    return drawn(slope_of_means(ARMS, regrets, 4, 0.25, detail), arms_figure(seed))


def arms_setting(arms: int, together: bool) -> Setting:
    return Setting(DIM if together else arms, arms, HORIZON, NOISE, 1.0)


def arms_regret(arms: int, together: bool, runs: int, seed: int) -> FloatArray:
    """R(T) with K arms in three dimensions, or each in a dimension of its own."""
    recipe = EnsembleSampling.from_theorem(arms_setting(arms, together))
    apart = LinearProblem(FiniteArms(np.eye(arms)), np.eye(arms)[-1], NOISE)
    world = problem("sphere", dim=DIM, arms=arms, noise=NOISE) if together else apart
    address = f"no-dependence-on-arms {arms} {together}"
    return final_regret(recipe, world, HORIZON, runs, seed, address)


def arms_figure(seed: int) -> Figure:
    """Mean regret over the number of arms, in three dimensions."""
    counts = (10, 30, 100, 300, 1000)
    means = [arms_regret(count, True, 30, seed).mean() for count in counts]
    bounds = [theorem_bound(arms_setting(count, True)) for count in counts]
    limit = curve("bound of Theorem 1", counts, bounds, bound=True)
    curves = curve("mean regret", counts, means), limit
    title = f"Regret over the number of arms, d = {DIM}, T = {HORIZON}"
    return log_figure(title, "arms", curves)


claim("no-dependence-on-arms", measure_arms, broken=twin(measure_arms, together=False))
