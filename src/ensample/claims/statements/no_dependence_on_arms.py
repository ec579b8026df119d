"""The regret does not grow with the number of arms, only with their dimension."""

from dataclasses import replace

import numpy as np

from ensample.arms import FiniteArms
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
    Scale,
    Section,
)
from ensample.claims.evidence import cell, slope_at_most
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.simulation import simulate
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

ID = "no-dependence-on-arms"
ARMS = (8, 24, 72)
DIM, HORIZON, NOISE = 3, 1000, 0.3
EXPONENT = 0.25
GROUP = 4  # runs whose mean is one replicate


def measure(scale: Scale, seed: int, together: bool = True) -> Judge:
    """The log-log slope of R(T) in K, with the theorem's constants for each K."""
    groups = scale.choose(40, 160, 800)
    regrets = np.array([played(arms, together, GROUP * groups, seed) for arms in ARMS])
    means, x = regrets.reshape(len(ARMS), groups, GROUP).mean(axis=2).T, np.array(ARMS, float)
    drawn = figure(seed)
    detail = f"mean regret {', '.join(f'{mean:.1f}' for mean in regrets.mean(axis=1))} for {', '.join(map(str, ARMS))} arms"
    last = np.arange(len(ARMS)) == len(ARMS) - 1
    return lambda f: replace(
        slope_at_most(x, np.where(last, f, 1.0) * means, EXPONENT, detail), figure=drawn
    )


def setting(arms: int, together: bool) -> Setting:
    return Setting(dim=DIM if together else arms, arms=arms, horizon=HORIZON, noise=NOISE, norm=1.0)


def played(arms: int, together: bool, runs: int, seed: int) -> FloatArray:
    """R(T) with K arms: drawn anew for each run in three dimensions, or each in a dimension of its own. [runs]"""
    recipe, place = (
        EnsembleSampling.from_theorem(setting(arms, together)),
        cell(f"{ID} {arms} {together}"),
    )
    apart = LinearProblem(FiniteArms(np.eye(arms)), np.eye(arms)[-1], NOISE)
    world = problem("sphere", dim=DIM, arms=arms, noise=NOISE) if together else apart
    return simulate(recipe, world, HORIZON, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def figure(seed: int) -> Figure:
    """Mean regret over the number of arms, in three dimensions."""
    arms = (10, 30, 100, 300, 1000)
    x = tuple(float(count) for count in arms)
    means = tuple(float(played(count, True, 30, seed).mean()) for count in arms)
    bounds = tuple(theorem_bound(setting(count, True)) for count in arms)
    curves = (Curve("mean regret", x, means), Curve("bound of Theorem 1", x, bounds, bound=True))
    return Figure(
        f"Regret over the number of arms, d = {DIM}, T = {HORIZON}",
        "arms",
        "regret",
        curves,
        log_x=True,
        log_y=True,
    )


CLAIM = Claim(
    id=ID,
    title="No dependence on the number of arms",
    statement="in a fixed dimension, regret hardly grows with the number of arms: no faster than K^(1/4)",
    latex=r"\frac{\mathrm{d}\log R(T)}{\mathrm{d}\log K} \le \tfrac14,\quad d \text{ fixed}",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=(
        "unit arms in random directions of three dimensions, all different",
        "the constants of Theorem 1 for each K",
    ),
    kind=Kind.RATE,
    faults=(Fault("the regret with the most arms multiplied by f", measure),),
    broken=Broken(
        "every arm in a dimension of its own: d = K",
        lambda scale, seed: measure(scale, seed, False)(SOUND),
    ),
    note="The bound has no K in it; K enters the algorithm through m alone. An upper bound cannot be refuted by a slope, so "
    "this is a statement about what the algorithm does. Arms fill the sphere as K grows, and the best of them improves a "
    "little; where each arm brings a dimension of its own, the regret does grow.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(8), Scale.PAPER: Cost(40)},
)
