"""How the regret grows with the dimension."""

from dataclasses import replace

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import cell, slope_at_most
from ensample.policies import EnsembleSampling
from ensample.problems import problem
from ensample.simulation import simulate
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "rate-in-dimension"
DIMS = (2, 4, 8, 16)
ARMS = 50
NOISE = 0.1
GROUP = 4  # runs whose mean is one replicate


def check(scale: Scale, seed: int, exponent: float = 1.5) -> Outcome:
    """The log-log slope of R(T) in d, at a horizon at which the largest regret is still far from linear."""
    horizon, groups = scale.choose(3000, 30_000, 300_000), scale.choose(20, 40, 40)
    regrets = np.array([played(dim, horizon, GROUP * groups, seed) for dim in DIMS])  # [dims, runs]
    means = regrets.reshape(len(DIMS), groups, GROUP).mean(axis=2).T
    x = np.array(DIMS, float)
    bounds = np.array([theorem_bound(setting(dim, horizon)) for dim in DIMS])
    detail = f"T = {horizon:,}, regret a round at d = {DIMS[-1]}: {regrets[-1].mean() / horizon:.2g}"
    return replace(slope_at_most(x, means, exponent, detail), figure=figure(x, regrets.mean(axis=1), bounds))


def setting(dim: int, horizon: int) -> Setting:
    return Setting(dim=dim, arms=ARMS, horizon=horizon, noise=NOISE, norm=1.0)


def played(dim: int, horizon: int, runs: int, seed: int) -> FloatArray:
    """R(T) on fresh problems, with the theorem's constants for this d: [runs]."""
    recipe = EnsembleSampling.from_theorem(setting(dim, horizon))
    world = problem("sphere", dim=dim, arms=ARMS, noise=NOISE)
    return simulate(recipe, world, horizon, runs, seed, checkpoints=1, cell=cell(f"{ID} {dim}")).regret[:, -1]


def figure(x: FloatArray, regrets: FloatArray, bounds: FloatArray) -> Figure:
    """Mean regret, and the lines that it is compared with, from its first point."""
    dims, start = tuple(x.tolist()), float(regrets[0])
    curves = (
        Curve("mean regret", dims, tuple(regrets.tolist())),
        Curve("d^(3/2)", dims, tuple((start * (x / x[0]) ** 1.5).tolist()), bound=True),
        Curve("sqrt d", dims, tuple((start * (x / x[0]) ** 0.5).tolist()), bound=True),
        Curve(f"bound / {bounds[0] / start:,.0f}", dims, tuple((bounds * start / bounds[0]).tolist()), bound=True),
    )
    return Figure("Regret over the dimension", "d", "regret", curves, log_x=True, log_y=True)


CLAIM = Claim(
    id=ID,
    title="The rate in the dimension",
    statement="regret at the theorem's constants grows no faster than d^(3/2) on random arms",
    latex=r"\frac{\mathrm{d}\log R(T)}{\mathrm{d}\log d} \le \tfrac32",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=("50 unit arms in random directions, S = lam = 1, sigma = 0.1", "the constants of Theorem 1 for each d"),
    kind=Kind.RATE,
    check=check,
    broken=Broken("an exponent of 1/2: the square root of the dimension", lambda scale, seed: check(scale, seed, exponent=0.5)),
    note="The bound itself grows more slowly than d^(3/2) here (the term sqrt(lam) S of beta_T does not grow) and more "
    "slowly than the regret, which is some thousand times smaller: the theorem is about the limit. Near-linear regret would "
    "make any slope small; the check says what the regret of a round is.",
    costs={Scale.QUICK: Cost(0.6), Scale.STANDARD: Cost(11), Scale.PAPER: Cost(150)},
)
