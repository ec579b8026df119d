"""Lazy evaluation has the law of all members kept, jointly: ensembles in which members act again and again."""

from collections.abc import Sequence

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, cell, same_law, weakest
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.simulation import simulate
from ensample.statistics import ks_distance
from ensample.types import FloatArray

ID = "lazy-members"
WORLD = LinearProblem(
    FiniteArms(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])), [0.55, 0.45], 0.5
)
SIZES, ROUNDS, SCALE = (2, 10), 50, 0.7
EVERY = [EnsembleSampling(size, SCALE) for size in SIZES]
FORGETFUL = [EnsembleSampling(size, SCALE, initial=Gaussian(0.0)) for size in SIZES]


def measure(scale: Scale, seed: int) -> Judge:
    """Regret and pulls of runs whose members are brought up to date only when they act, and of runs that keep them all.

    With few members and many rounds a member acts many times, each time on what it has learned while others acted: the
    laws agree only if the joint law of all members over all rounds does.
    """
    eager, lazy = (played(EVERY, evaluation, scale, seed) for evaluation in ("eager", "lazy"))
    lost = played(FORGETFUL, "lazy", scale, seed)
    return lambda f: compared(
        eager, {size: mixed(lazy[size], lost[size], f) for size in SIZES}, scale
    )


def mixed(lazy: FloatArray, lost: FloatArray, f: float) -> FloatArray:
    """One part in f of the first runs, the rest of the second."""
    kept = round(len(lazy) / f)
    return np.vstack([lazy[:kept], lost[kept:]])


def compared(eager: dict[int, FloatArray], lazy: dict[int, FloatArray], scale: Scale) -> Outcome:
    tolerance, found = scale.choose(0.2, 0.06, 0.02), []
    for size, one in eager.items():
        runs, columns = one.shape
        distance = max(ks_distance(one[:, n], lazy[size][:, n]) for n in range(columns))
        found.append(
            same_law(
                distance,
                [runs, runs],
                tolerance,
                f"m = {size}",
                CLAIM_ALARM / (columns * len(eager)),
            )
        )
    return weakest(found)


def played(
    recipes: Sequence[EnsembleSampling], evaluation: str, scale: Scale, seed: int
) -> dict[int, FloatArray]:
    return {recipe.size: outcomes(recipe, evaluation, scale, seed) for recipe in recipes}


def outcomes(recipe: EnsembleSampling, evaluation: str, scale: Scale, seed: int) -> FloatArray:
    """Regret half-way and at the end, and the pulls of each arm: [runs, 6]."""
    runs = scale.choose(3000, 50_000, 500_000)
    place = cell(f"{ID} {evaluation} {recipe.size}")
    found = simulate(recipe, WORLD, ROUNDS, runs, seed, evaluation, checkpoints=2, cell=place)
    assert found.pulls is not None
    return np.hstack([found.regret, found.pulls])


def strengthen(scale: Scale, seed: int) -> Judge:
    """Two lazy members with stronger perturbations."""
    eager = played(EVERY[:1], "eager", scale, seed)
    return lambda f: compared(
        eager, played([EnsembleSampling(SIZES[0], f * SCALE)], "lazy", scale, seed), scale
    )


CLAIM = Claim(
    id=ID,
    title="Lazy members have the law of all members",
    statement="bringing members up to date only when they act does not change the law of what an ensemble does",
    latex=r"\Big(\sum_{i \le n} Z_{k,i}^j\Big)_{j,k}\ \text{drawn when member } j \text{ acts} \ \overset{d}{=}\ "
    r"\text{kept for all } j",
    reference="appx:rigorous explanation",
    section=Section.OPTIMISM,
    assumptions=("perturbations are independent over members, arms and pulls",),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("initial perturbations lost in all but one in f of the lazy runs", measure),
        Fault("the perturbations of the lazy members multiplied by f", strengthen),
    ),
    broken=Broken("initial perturbations lost in 99 of 100 lazy runs", 100.0),
    note="Simulations of ensembles of any size cost the same because of it: what a member has missed since it last acted is a "
    "sum of independent numbers for each arm, which is drawn at once.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(10), Scale.PAPER: Cost(100, 300)},
)
