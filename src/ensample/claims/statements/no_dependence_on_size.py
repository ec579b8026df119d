"""The regret does not grow with the ensemble."""

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
from ensample.problems import LinearProblem
from ensample.simulation import simulate
from ensample.theory import Setting, sharp_size, theorem_bound
from ensample.types import FloatArray

ID = "no-dependence-on-size"
SETTING = Setting(dim=2, arms=2, horizon=1000, noise=0.1, norm=1.0)
WORLD = LinearProblem(FiniteArms(np.eye(2)), [0.4, 0.8], 0.1)
EXPONENT = 0.1
GROUP = 10  # runs whose mean is one replicate


def measure(scale: Scale, seed: int, inflated: bool = False) -> Judge:
    """The log-log slope of R(T) in the size, at m, 2 m and 4 m members, all fewer than T."""
    groups, prescribed = scale.choose(60, 600, 6000), sharp_size(SETTING)
    sizes = (prescribed, 2 * prescribed, 4 * prescribed)
    strengths = [size / prescribed if inflated else 1.0 for size in sizes]
    regrets = np.array(
        [
            played(size, strength, GROUP * groups, seed)
            for size, strength in zip(sizes, strengths, strict=True)
        ]
    )
    means, x = regrets.reshape(len(sizes), groups, GROUP).mean(axis=2).T, np.array(sizes, float)
    drawn = figure(seed)
    listed = ", ".join(f"{mean:.2f}" for mean in regrets.mean(axis=1))
    detail = f"mean regret {listed} with {', '.join(map(str, sizes))} members"
    last = np.arange(len(sizes)) == len(sizes) - 1
    return lambda f: replace(
        slope_at_most(x, np.where(last, f, 1.0) * means, EXPONENT, detail), figure=drawn
    )


def played(size: int, strength: float, runs: int, seed: int) -> FloatArray:
    """R(T) with so many members, the theorem's perturbations multiplied by `strength`: [runs]."""
    recipe = EnsembleSampling(size, strength * EnsembleSampling.from_theorem(SETTING).unit_scale)
    return simulate(
        recipe, WORLD, SETTING.horizon, runs, seed, checkpoints=1, cell=cell(f"{ID} {size}")
    ).regret[:, -1]


def figure(seed: int) -> Figure:
    """Mean regret over the size: the bound is the same for all."""
    prescribed = sharp_size(SETTING)
    sizes = [1, 3, 10, 30, 100, prescribed, 10 * prescribed, 100 * prescribed]
    means = [float(played(size, 1.0, 100, seed).mean()) for size in sizes]
    x, bound = tuple(float(size) for size in sizes), theorem_bound(SETTING)
    curves = (
        Curve("mean regret", x, tuple(means)),
        Curve("2ST", x, (2.0 * SETTING.norm * SETTING.horizon,) * len(x), bound=True),
        Curve("bound of Theorem 1, from the prescribed m on", x[-3:], (bound,) * 3, bound=True),
    )
    return Figure(
        f"Regret over the ensemble's size, T = {SETTING.horizon}",
        "members",
        "regret",
        curves,
        log_x=True,
        log_y=True,
    )


CLAIM = Claim(
    id=ID,
    title="No dependence on the ensemble's size",
    statement="from the prescribed m on, regret does not grow with the ensemble: m, 2 m and 4 m members, all fewer than T",
    latex=r"\frac{\mathrm{d}\log R(T)}{\mathrm{d}\log m} \le 0.1",
    reference="remark:janz_ensemble_size_increasing",
    section=Section.THEOREM,
    assumptions=(
        "the constants of Theorem 1, m from Chernoff's inequality",
        "the scale beta_T is the same for every m",
    ),
    kind=Kind.RATE,
    faults=(Fault("the regret of the largest ensemble multiplied by f", measure),),
    broken=Broken(
        "perturbations that grow with the ensemble, in proportion to m",
        lambda scale, seed: measure(scale, seed, inflated=True)(SOUND),
    ),
    note="The bound of Janz et al. 2024 grows faster than linearly in m. With m above T members seldom act twice and the "
    "algorithm is LinPHE, whatever m; so the sizes compared are below T, and members act several times. It is the mean that "
    "stays: runs with fewer members differ more from one another, which their laws show.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(9), Scale.PAPER: Cost(90)},
)
