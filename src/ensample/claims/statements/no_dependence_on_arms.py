"""The regret bound does not grow with the number of arms."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, cell, same_law, weakest
from ensample.claims.statistics import ks_distance
from ensample.policies import EnsembleSampling
from ensample.problems import Family, LinearProblem, problem
from ensample.simulation import simulate
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "no-dependence-on-arms"
ARMS, DIM, HORIZON = 10, 3, 100
APART = 1e-6  # between copies: they are different arms, and a member that likes one may play any of them


@dataclass(frozen=True)
class Copies(Family):
    """Unit arms in random directions, each `copies` times but for a rotation by about 1e-6, in random order."""

    copies: int
    dim: int = DIM

    def draw(self, rng: Generator) -> LinearProblem:
        base = problem("sphere", dim=self.dim, arms=ARMS, noise=1.0).draw(rng)
        assert isinstance(base, LinearProblem) and isinstance(base.arms, FiniteArms)
        features = np.repeat(base.arms.features, self.copies, axis=0)
        features += APART * rng.standard_normal(features.shape)
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return LinearProblem(FiniteArms(rng.permutation(features)), base.theta, base.noise)


def check(scale: Scale, seed: int, copied: bool = True) -> Outcome:
    """The law of R(T) with K, 10 K and 100 K arms by Kolmogorov-Smirnov distances, and the bound's independence of K."""
    runs, tolerance = scale.choose(1500, 15_000, 150_000), scale.choose(0.25, 0.08, 0.03)
    factors = (1, 10, 100)
    regrets = [played(Copies(c) if copied or c == 1 else fresh(c), c * ARMS, runs, seed) for c in factors]
    outcomes = []
    for c, regret in zip(factors[1:], regrets[1:], strict=True):
        detail = f"{ARMS} and {c * ARMS} arms: mean regret {regrets[0].mean():.2f} and {regret.mean():.2f}"
        outcomes.append(same_law(ks_distance(regrets[0], regret), [runs, runs], tolerance, detail, CLAIM_ALARM / 2))
    return replace(weakest(outcomes), figure=figure(seed))


def fresh(copies: int) -> Family:
    return problem("sphere", dim=DIM, arms=copies * ARMS, noise=1.0)


def setting(arms: int) -> Setting:
    return Setting(dim=DIM, arms=arms, horizon=HORIZON, noise=1.0, norm=1.0)


def played(world: Family, arms: int, runs: int, seed: int) -> FloatArray:
    """R(T) with the theorem's constants for this K: its m grows with K."""
    recipe, place = EnsembleSampling.from_theorem(setting(arms)), cell(f"{ID} {world!r}")
    return simulate(recipe, world, HORIZON, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def figure(seed: int) -> Figure:
    """Mean regret over the number of arms, when they are copies and when they are new."""
    factors = (1, 3, 10, 30, 100)
    x = tuple(float(c * ARMS) for c in factors)
    copies = tuple(float(played(Copies(c), c * ARMS, 100, seed).mean()) for c in factors)
    new = tuple(float(played(fresh(c), c * ARMS, 100, seed).mean()) for c in factors)
    bounds = tuple(theorem_bound(setting(c * ARMS)) for c in factors)
    curves = (Curve("copies", x, copies), Curve("new arms", x, new), Curve("bound of Theorem 1", x, bounds, bound=True))
    return Figure(f"Regret over the number of arms, d = {DIM}, T = {HORIZON}", "arms", "regret", curves, log_x=True, log_y=True)


CLAIM = Claim(
    id=ID,
    title="No dependence on the number of arms",
    statement="more arms that differ in nothing do not change the law of the regret: K, 10 K and 100 K arms",
    latex=r"\sup_r \big|\mathbb{P}(R_K(T) \le r) - \mathbb{P}(R_{CK}(T) \le r)\big| \approx 0, \quad C \in \{10, 100\}",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=("the constants of Theorem 1 for each K", "the arms added are copies of those there, up to 1e-6"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("new arms in random directions instead of copies", lambda scale, seed: check(scale, seed, copied=False)),
    note="K enters the algorithm through m alone, and m does not matter (the claim before). New arms do change a problem: the best "
    "of them is better and harder to tell from the next; the bound allows for it once and for all, without a K.",
    costs={Scale.QUICK: Cost(3), Scale.STANDARD: Cost(40), Scale.PAPER: Cost(400)},
)
