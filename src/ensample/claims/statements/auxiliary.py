"""Auxiliary lemmas: the elliptical potential, chi-square tails, and Azuma and Hoeffding."""

import math
from dataclasses import replace

import numpy as np

from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import always_at_most, generator
from ensample.claims.texts import claim, twin
from ensample.problems.problem import unit_rows
from ensample.statistics import beta_cdf, chi_square_tail
from ensample.types import FloatArray

# elliptical-potential: squared widths of the arms played add up to a logarithm

DIMS = (1, 2, 5, 20)


def measure_potential(
    scale: Scale, seed: int, regularizations: tuple[float, ...] = (1.0, 2.0, 10.0)
) -> Judge:
    """The largest ratio of the sum to its bound over every horizon, for adverse and random arms."""
    rounds, worst, at = scale.choose(300, 3000, 30_000), 0.0, ""
    rng = generator(seed, "elliptical-potential")
    for d in DIMS:
        for lam in regularizations:
            bounds = 2.0 * d * np.log1p(np.arange(1, rounds + 1) / (d * lam))
            sequences = {
                "the widest direction": None,
                "one direction": np.tile(np.eye(d)[0], (rounds, 1)),
                "random directions": unit_rows(rng, rounds, d),
                "short arms": rng.random((rounds, 1)) * unit_rows(rng, rounds, d),
            }
            for name, X in sequences.items():
                ratios = potential(X, d, lam, rounds) / bounds
                if ratios.max() > worst:
                    worst = float(ratios.max())
                    at = f"largest at d = {d}, lam = {lam:g}, T = {ratios.argmax() + 1}, {name}"
    cases, figure = 4 * rounds * len(DIMS) * len(regularizations), potential_figure(rounds)
    return lambda f: replace(always_at_most(worst, 1.0 / f, cases, at), figure=figure)


def potential(X: FloatArray | None, d: int, lam: float, rounds: int) -> FloatArray:
    """sum_{t <= T} |X_t|^2_{V_{t-1}^-1} for every T. Without X the widest unit vector is played."""
    inverse, terms = np.eye(d) / lam, np.empty(rounds)
    for t in range(rounds):
        x = np.linalg.eigh(inverse)[1][:, -1] if X is None else X[t]
        u = inverse @ x
        terms[t] = x @ u
        inverse -= np.outer(u, u) / (1.0 + terms[t])
    return np.cumsum(terms)


def potential_figure(rounds: int) -> Figure:
    """d = 1, where the sum is known for every T: 1/lam + 1/(lam + 1) + ..."""
    times = np.unique(np.geomspace(1, rounds, 30).astype(int))
    curves = []
    for lam in (1.0, 0.1):
        sums = potential(np.ones((rounds, 1)), 1, lam, rounds)[times - 1]
        limit = 2.0 * np.log1p(times / lam)
        curves.append(curve(f"sum, lam = {lam:g}", times, sums))
        curves.append(curve(f"bound, lam = {lam:g}", times, limit, bound=True))
    title = "The potential in dimension 1"
    return Figure(title, "T", "sum of squared widths", tuple(curves), log_x=True)


claim(
    "elliptical-potential",
    measure_potential,
    broken=twin(measure_potential, regularizations=(0.1,)),
)

# chi-square: the tail of Laurent and Massart, which bounds the initial perturbations

LEVELS = tuple(0.1 * 1.25**k for k in range(40))  # x from 0.1 to 600
SHOWN = 100  # the dimension of the figure


def measure_chi_square(scale: Scale, seed: int) -> Judge:
    """P(chi^2_d - d >= (2/f) sqrt(d x) + 2 x) / e^-x is at most 1 on a grid, by exact tails."""
    largest, figure = scale.choose(100, 400, 1500), chi_square_figure()

    def judge(f: float) -> Outcome:
        grid = ((d, x) for d in range(1, largest + 1) for x in LEVELS)
        ratios = {(d, x): tail(d, x, 2.0 / f) * math.exp(x) for d, x in grid}
        d, x = max(ratios, key=ratios.__getitem__)
        at = f"d = 100, x = 10 the tail is {tail(100, 10.0, 2.0 / f):.2g}"
        detail = f"largest at d = {d}, x = {x:.3g}; at {at}"
        return replace(always_at_most(ratios[d, x], 1.0, len(ratios), detail), figure=figure)

    return judge


def tail(d: int, x: float, factor: float) -> float:
    return chi_square_tail(d, d + factor * math.sqrt(d * x) + 2.0 * x)


def chi_square_figure() -> Figure:
    levels = tuple(0.5 * k for k in range(1, 41))
    curves = (
        curve("as printed, sqrt(dx) + 2x", levels, (tail(SHOWN, x, 1.0) for x in levels)),
        curve("correct, 2 sqrt(dx) + 2x", levels, (tail(SHOWN, x, 2.0) for x in levels)),
        curve("exp(-x)", levels, (math.exp(-x) for x in levels), bound=True),
    )
    return Figure(f"Chi-square tail, d = {SHOWN}", "x", "probability", curves, log_y=True)


claim("chi-square", measure_chi_square, broken=2.0)

# gaussian-norm: the length of a Gaussian vector

NORM_DELTAS = tuple(0.9 * 0.6**k for k in range(60))  # from 0.9 to 5e-14


def measure_gaussian_norm(scale: Scale, seed: int) -> Judge:
    """P(|Z| >= sqrt d + sqrt(2 log(1/delta))) / delta is at most 1 on a grid, by exact tails."""
    largest = scale.choose(100, 1000, 5000)

    def ratio(d: int, delta: float, f: float) -> float:
        length = math.sqrt(d) + math.sqrt(-2.0 * math.log(delta)) / f
        return chi_square_tail(d, length**2) / delta

    def judge(f: float) -> Outcome:
        grid = ((d, delta) for d in range(1, largest + 1) for delta in NORM_DELTAS)
        ratios = {(d, delta): ratio(d, delta, f) for d, delta in grid}
        d, delta = max(ratios, key=ratios.__getitem__)
        detail = f"largest at d = {d}, delta = {delta:.2g}"
        return always_at_most(ratios[d, delta], 1.0, len(ratios), detail)

    return judge


claim("gaussian-norm", measure_gaussian_norm, broken=math.sqrt(2.0))

# azuma-hoeffding: turns expected widths into those of the arms played

CHANCES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)
SUM_DELTAS = tuple(0.9 * 0.5**k for k in range(40))


def measure_azuma(scale: Scale, seed: int) -> Judge:
    """P(S - E S > (b - a) sqrt(n/2 log(1/delta))) / delta is at most 1, exactly.

    S is a sum of n variables in {a, b}: of all variables in [a, b] with a given mean they vary
    most; (a, b) may be taken as (0, 1).
    """
    lengths = np.unique(np.geomspace(1, scale.choose(300, 3000, 30_000), 25).astype(int)).tolist()

    def judge(f: float) -> Outcome:
        grid = ((n, p, delta) for n in lengths for p in CHANCES for delta in SUM_DELTAS)
        ratios = {point: azuma_ratio(*point, f) for point in grid}
        n, p, delta = worst = max(ratios, key=ratios.__getitem__)
        detail = f"largest at n = {n}, mean {p:g}, delta = {delta:.2g}"
        return always_at_most(ratios[worst], 1.0, len(ratios), detail)

    return judge


def azuma_ratio(n: int, p: float, delta: float, f: float) -> float:
    level = n * p + math.sqrt(-0.5 * n * math.log(delta)) / f
    least = math.floor(level + 1e-9) + 1  # the smallest whole number above
    if least > n:
        return 0.0
    return beta_cdf(float(least), float(n - least + 1), p) / delta  # P(Bin(n, p) >= least)


claim("azuma-hoeffding", measure_azuma, broken=2.0)
