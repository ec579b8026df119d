"""The regret bound does not grow with the ensemble."""

from dataclasses import replace

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, cell, generator, same_law, weakest
from ensample.policies import EnsembleSampling
from ensample.problems import problem
from ensample.randomness import RunStream
from ensample.simulation import simulate
from ensample.statistics import ks_distance
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "no-dependence-on-size"
SETTING = Setting(dim=3, arms=10, horizon=200, noise=0.1, norm=1.0)


def check(scale: Scale, seed: int, fraction: float = 1.0) -> Outcome:
    """The law of R(T) at m, 10 m and 100 m members, by Kolmogorov-Smirnov distances; m the theorem's times `fraction`."""
    runs, tolerance = scale.choose(1600, 30_000, 300_000), scale.choose(0.25, 0.06, 0.02)
    recipe = EnsembleSampling.from_theorem(SETTING)
    first = max(1, round(fraction * recipe.size))
    sizes = [first, 10 * first, 100 * first]
    regrets = [played(replace(recipe, size=size), runs, seed) for size in sizes]
    outcomes = []
    for size, regret in zip(sizes[1:], regrets[1:], strict=True):
        distance = ks_distance(regrets[0], regret)
        detail = f"{first:,} and {size:,} members: mean regret {regrets[0].mean():.2f} and {regret.mean():.2f}"
        outcomes.append(same_law(distance, [runs, runs], tolerance, detail, CLAIM_ALARM / 2))
    return replace(weakest(outcomes), figure=figure(seed))


def played(recipe: EnsembleSampling, runs: int, seed: int) -> FloatArray:
    """R(T) on one problem, the same for every size: [runs]."""
    family = problem("sphere", dim=SETTING.dim, arms=SETTING.arms, noise=SETTING.noise)
    world = family.draw(generator(seed, ID, stream=RunStream.PROBLEM))
    place = cell(f"{ID} {recipe.size}")
    return simulate(recipe, world, SETTING.horizon, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def figure(seed: int) -> Figure:
    """Mean regret over the size: a cost of small ensembles, none of large ones; the bound is the same for all."""
    recipe = EnsembleSampling.from_theorem(SETTING)
    sizes = [1, 3, 10, 30, 100, recipe.size, 100 * recipe.size]
    means = [float(played(replace(recipe, size=size), 100, seed).mean()) for size in sizes]
    x, bound = tuple(float(size) for size in sizes), theorem_bound(SETTING)
    curves = (
        Curve("mean regret", x, tuple(means)),
        Curve("2ST", x, (2.0 * SETTING.norm * SETTING.horizon,) * len(x), bound=True),
        Curve("bound of Theorem 1, from the prescribed m on", x[-2:], (bound, bound), bound=True),
    )
    return Figure(
        f"Regret over the ensemble's size, T = {SETTING.horizon}", "members", "regret", curves, log_x=True, log_y=True
    )


CLAIM = Claim(
    id=ID,
    title="No dependence on the ensemble's size",
    statement="from the prescribed m on, more members do not change the law of the regret: m, 10 m and 100 m",
    latex=r"\sup_r \big|\mathbb{P}(R_m(T) \le r) - \mathbb{P}(R_{Cm}(T) \le r)\big| \approx 0, \quad C \in \{10, 100\}",
    reference="remark:janz_ensemble_size_increasing",
    section=Section.THEOREM,
    assumptions=("the constants of Theorem 1", "the scale beta_T is the same for every m"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("from one member on: 1, 10 and 100", lambda scale, seed: check(scale, seed, fraction=0.0)),
    note="The theorem's bound has no m in it; that the law of the regret does not depend on m either is a little more. "
    "It is a statement of equality: it holds to within the stated distance. With m far above T, members seldom act twice, "
    "and the algorithm is LinPHE.",
    costs={Scale.QUICK: Cost(1.2), Scale.STANDARD: Cost(28), Scale.PAPER: Cost(300)},
)
