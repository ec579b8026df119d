"""The regret bound does not grow with the number of arms."""

from dataclasses import replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, cell, generator, same_law, weakest
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.randomness import RunStream
from ensample.simulation import simulate
from ensample.statistics import ks_distance
from ensample.theory import Setting, theorem_bound
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "no-dependence-on-arms"
ARMS, DIM, HORIZON, NOISE = 10, 3, 200, 0.1
FACTORS = (1, 10, 50)
APART = 1e-6  # between copies: they are different arms, and a member that likes one may play any of them


def check(scale: Scale, seed: int, copied: bool = True) -> Outcome:
    """The law of R(T) with K, 10 K and 50 K arms by Kolmogorov-Smirnov distances, and the bound's independence of K."""
    runs, tolerance = scale.choose(1000, 15_000, 150_000), scale.choose(0.3, 0.08, 0.03)
    regrets = [played(c, copied, runs, seed) for c in FACTORS]
    outcomes = []
    for c, regret in zip(FACTORS[1:], regrets[1:], strict=True):
        detail = f"{ARMS} and {c * ARMS} arms: mean regret {regrets[0].mean():.2f} and {regret.mean():.2f}"
        outcomes.append(same_law(ks_distance(regrets[0], regret), [runs, runs], tolerance, detail, CLAIM_ALARM / 2))
    return replace(weakest(outcomes), figure=figure(seed))


def world(factor: int, copied: bool, seed: int) -> LinearProblem:
    """One good arm, e_1, and nine that point away from it; each `factor` times up to 1e-6, in random order, or as many anew."""
    rng = generator(seed, ID, stream=RunStream.PROBLEM)
    features = rng.standard_normal((ARMS, DIM))
    features[:, 0] = -np.abs(features[:, 0])
    features[0] = theta = np.eye(DIM)[0]
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    if factor > 1:
        more = rng.standard_normal((factor * ARMS, DIM))
        features = np.repeat(features, factor, axis=0) + APART * more if copied else more
        features = rng.permutation(features / np.linalg.norm(features, axis=1, keepdims=True))
    return LinearProblem(FiniteArms(features), theta, NOISE)


def setting(arms: int) -> Setting:
    return Setting(dim=DIM, arms=arms, horizon=HORIZON, noise=NOISE, norm=1.0)


def played(factor: int, copied: bool, runs: int, seed: int) -> FloatArray:
    """R(T) with the theorem's constants for this K, whose m grows with K: [runs]."""
    recipe, place = EnsembleSampling.from_theorem(setting(factor * ARMS)), cell(f"{ID} {factor} {copied}")
    return simulate(recipe, world(factor, copied, seed), HORIZON, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def figure(seed: int) -> Figure:
    """Mean regret over the number of arms, when they are copies and when they are new."""
    factors = (1, 5, 50)
    x = tuple(float(c * ARMS) for c in factors)
    copies = tuple(float(played(c, True, 40, seed).mean()) for c in factors)
    new = tuple(float(played(c, False, 40, seed).mean()) for c in factors)
    bounds = tuple(theorem_bound(setting(c * ARMS)) for c in factors)
    curves = (Curve("copies", x, copies), Curve("new arms", x, new), Curve("bound of Theorem 1", x, bounds, bound=True))
    return Figure(f"Regret over the number of arms, d = {DIM}, T = {HORIZON}", "arms", "regret", curves, log_x=True, log_y=True)


CLAIM = Claim(
    id=ID,
    title="No dependence on the number of arms",
    statement="more arms that differ in nothing do not change the law of the regret: K, 10 K and 50 K arms",
    latex=r"\sup_r \big|\mathbb{P}(R_K(T) \le r) - \mathbb{P}(R_{CK}(T) \le r)\big| \approx 0, \quad C \in \{10, 50\}",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=("the constants of Theorem 1 for each K", "the arms added are copies of those there, up to 1e-6"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("new arms in random directions instead of copies", lambda scale, seed: check(scale, seed, copied=False)),
    note="K enters the algorithm through m alone, and m does not matter (the claim before). New arms do change a problem: the "
    "best of them is better and harder to tell from the next; the bound allows for it once and for all, without a K.",
    costs={Scale.QUICK: Cost(1.3), Scale.STANDARD: Cost(20), Scale.PAPER: Cost(200)},
)
