"""The remark on the event E_2: an ensemble may have no optimistic member at all."""

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_equals, weakest
from ensample.perturbations import P_N, Gaussian
from ensample.types import FloatArray

ID = "role-of-the-second-event"
SIZES = (2, 6, 12)
TOLERANCE = 0.1
DIM = 4


def measure(scale: Scale, seed: int) -> Judge:
    """How often none of m members reaches beta |U| before the first round, where U = x* / sqrt(lam)."""
    ensembles = scale.choose(60_000, 400_000, 4_000_000)
    missing = {size: int((reaches(size, ensembles, seed) < 1.0).sum()) for size in SIZES}

    def judge(f: float) -> Outcome:
        outcomes = []
        for size, count in missing.items():
            chance, detail = (
                (1.0 - min(1.0, f * P_N)) ** size,
                f"m = {size}: {count / ensembles:.4f}",
            )
            outcomes.append(
                probability_equals(
                    count, ensembles, chance, TOLERANCE, detail, CLAIM_ALARM / len(SIZES)
                )
            )
        return weakest(outcomes)

    return judge


def reaches(size: int, ensembles: int, seed: int) -> FloatArray:
    """max_j U'Z^j / (beta |U|) of many ensembles: [ensembles]."""
    rng, u = generator(seed, ID, size), np.full(DIM, DIM**-0.5)
    farthest = np.full(ensembles, -np.inf)
    for _ in range(size):
        np.maximum(farthest, Gaussian().draw_vectors(rng, ensembles, DIM) @ u, out=farthest)
    return farthest


def fresh(scale: Scale, seed: int) -> Outcome:
    """With fresh perturbations the chance given the past is always p_N: the same test on an event that never happens."""
    ensembles = scale.choose(60_000, 400_000, 4_000_000)
    return probability_equals(
        0,
        ensembles,
        (1.0 - P_N) ** SIZES[0],
        TOLERANCE,
        "fresh perturbations: the chance is p_N always",
    )


CLAIM = Claim(
    id=ID,
    title="Why the second event is needed",
    statement="m members have no chance of optimism with probability (1 - p_N)^m: given the past, p is 0 in some histories",
    latex=r"\mathbb{P}\big(\forall j:\ U_0^\top\mathbf{Z}_1^j < \beta_T\|U_0\|_2\big) = (1-p_N)^m > 0",
    reference="Remark 4 (role of the event E_2), without a label",
    section=Section.GENERAL,
    assumptions=("perturbations are part of the past, as in an ensemble", "Gaussian laws"),
    kind=Kind.PROBABILITY,
    faults=(Fault("p_N multiplied by f", measure, 6.0),),
    broken=Broken("perturbations drawn afresh in every round, as LinPHE does", fresh),
    note="So no constant p > 0 bounds the conditional probability of optimism in all histories, and the theorem has to "
    "confine itself to the event that enough members are optimistic. Analyses of Thompson sampling and LinPHE need "
    "no such event.",
    costs={Scale.QUICK: Cost(0.3, 200), Scale.STANDARD: Cost(3, 300), Scale.PAPER: Cost(30, 500)},
)
