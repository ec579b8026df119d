"""How the regret grows with the dimension."""

from dataclasses import replace

import numpy as np

from ensample.claims.claim import (
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
from ensample.claims.evidence import CLAIM_ALARM, cell, slope_at_most, weakest
from ensample.policies import EnsembleSampling
from ensample.problems import problem
from ensample.simulation import simulate
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

ID = "rate-in-dimension"
DIMS = (2, 4, 8, 16)
ARMS = 50
NOISE = 0.1
GROUP = 4  # runs whose mean is one replicate
LEARNS = 0.85  # of the exponent in t from T/8 on: below 1 for an algorithm that learns
PARTS = 8


def measure(scale: Scale, seed: int) -> Judge:
    """The log-log slope of R(T) in d, and in every dimension that of R(t) in t from T/8 to T."""
    regrets = played(scale, seed, 1.0)
    x, last = np.array(DIMS, float), np.array([regret[:, -1].mean() for regret in regrets])
    bounds = np.array([theorem_bound(setting(dim, horizon(scale))) for dim in DIMS])
    drawn = figure(x, last, bounds)
    return lambda f: replace(judged(regrets, f), figure=drawn)


def judged(regrets: list[FloatArray], f: float) -> Outcome:
    """Of regrets [replicates, (T/8, T)] for each dimension."""
    alarm, x = CLAIM_ALARM / (1 + len(DIMS)), np.array(DIMS, float)
    growth = np.array([regret[:, -1] for regret in regrets]).T
    outcomes = [slope_at_most(x, growth, 1.5 / f, "in d", alarm)]
    for dim, regret in zip(DIMS, regrets, strict=True):
        outcomes.append(
            slope_at_most(np.array([1.0, PARTS]), regret, LEARNS, f"in t, d = {dim}", alarm)
        )
    return weakest(outcomes)


def horizon(scale: Scale) -> int:
    return scale.choose(3000, 30_000, 300_000)


def setting(dim: int, rounds: int) -> Setting:
    return Setting(dim=dim, arms=ARMS, horizon=rounds, noise=NOISE, norm=1.0)


def played(scale: Scale, seed: int, strength: float) -> list[FloatArray]:
    """R(T/8) and R(T) on fresh problems for each dimension, perturbations at `strength` times the theorem's: [groups, 2]."""
    rounds, groups = horizon(scale), scale.choose(25, 40, 40)
    found = []
    for dim in DIMS:
        theorem = EnsembleSampling.from_theorem(setting(dim, rounds))
        recipe = EnsembleSampling(theorem.size, strength * theorem.unit_scale)
        world = problem("sphere", dim=dim, arms=ARMS, noise=NOISE)
        runs = simulate(
            recipe, world, rounds, GROUP * groups, seed, checkpoints=PARTS, cell=cell(f"{ID} {dim}")
        )
        early = int(np.searchsorted(runs.checkpoints, rounds // PARTS))
        found.append(runs.regret[:, [early, -1]].reshape(groups, GROUP, 2).mean(axis=1))
    return found


def figure(x: FloatArray, regrets: FloatArray, bounds: FloatArray) -> Figure:
    """Mean regret, and the lines that it is compared with, from its first point."""
    dims, start = tuple(x.tolist()), float(regrets[0])
    curves = (
        Curve("mean regret", dims, tuple(regrets.tolist())),
        Curve("d^(3/2)", dims, tuple((start * (x / x[0]) ** 1.5).tolist()), bound=True),
        Curve("sqrt d", dims, tuple((start * (x / x[0]) ** 0.5).tolist()), bound=True),
        Curve(
            f"bound / {bounds[0] / start:,.0f}",
            dims,
            tuple((bounds * start / bounds[0]).tolist()),
            bound=True,
        ),
    )
    return Figure("Regret over the dimension", "d", "regret", curves, log_x=True, log_y=True)


def strengthen(scale: Scale, seed: int) -> Judge:
    return lambda f: judged(played(scale, seed, f), 1.0)


def weaken(scale: Scale, seed: int) -> Judge:
    return lambda f: judged(played(scale, seed, 1.0 / f), 1.0)


CLAIM = Claim(
    id=ID,
    title="The rate in the dimension",
    statement="regret at the theorem's constants grows no faster than d^(3/2) on random arms, while every d is learned",
    latex=r"\frac{\mathrm{d}\log R(T)}{\mathrm{d}\log d} \le \tfrac32,"
    r"\quad \frac{\mathrm{d}\log R(t)}{\mathrm{d}\log t} \le 0.85",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=(
        "50 unit arms in random directions, S = lam = 1, sigma = 0.1",
        "the constants of Theorem 1 for each d",
    ),
    kind=Kind.RATE,
    faults=(
        Fault("the exponent 3/2 divided by f", measure),
        Fault("the perturbations multiplied by f", strengthen),
        Fault("the perturbations divided by f", weaken, 1e4),
    ),
    broken=Broken(
        "perturbations a hundred times as large", lambda scale, seed: strengthen(scale, seed)(100.0)
    ),
    note="A slope in d alone would pass an algorithm that learns nothing, whose regret is linear in T for every d: hence "
    "the slope in t. The bound itself grows more slowly than d^(3/2) here (the term sqrt(lam) S of beta_T does not "
    "grow) and more slowly than the regret, which is some thousand times smaller: the theorem is about the limit.",
    costs={Scale.QUICK: Cost(0.7), Scale.STANDARD: Cost(11), Scale.PAPER: Cost(150)},
)
