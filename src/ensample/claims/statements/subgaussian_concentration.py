"""Perturbations of any admissible law concentrate."""

import math

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_most, weakest
from ensample.claims.perturbed import norms_when_chased, norms_when_fixed
from ensample.perturbations import (
    CenteredBinomial,
    InitialLaw,
    Perturbation,
    Rademacher,
    Sphere,
    Uniform,
)

ID = "subgaussian-concentration"
LAWS: tuple[tuple[InitialLaw, Perturbation], ...] = (
    (Rademacher(), Rademacher()),
    (Uniform(), Uniform()),
    (CenteredBinomial(3), CenteredBinomial(3)),
    (Sphere(), Rademacher()),
)
LAM, DELTA = 2.0, 0.05
SHAPES = ((2, 40), (200, 20))  # (d, T)


def measure(scale: Scale, seed: int) -> Judge:
    """How often max_t |theta~_t|_{V_t} exceeds its radius, for each pair of laws of the initial vector and the rewards."""
    members = scale.choose(2000, 40_000, 200_000)
    sizes = {}
    for part, (initial, reward) in enumerate(LAWS):
        for place, (d, T) in enumerate(SHAPES):
            norms = norms_when_chased if place == 0 else norms_when_fixed
            found = norms(
                initial, reward, LAM, d, T, members, generator(seed, ID, 10 * part + place)
            )
            name = f"{type(initial).__name__} and {type(reward).__name__}, d = {d}"
            sizes[name] = found / radius(initial, reward, d, T)

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, size in sizes.items():
            detail, failures = f"{name}: largest {f * size.max():.2f}", int((f * size > 1.0).sum())
            outcomes.append(
                probability_at_most(
                    failures, members, 2.0 * DELTA, detail, CLAIM_ALARM / len(sizes)
                )
            )
        return weakest(outcomes)

    return judge


def radius(initial: InitialLaw, reward: Perturbation, d: int, T: int) -> float:
    """sigma_R sqrt(d log(1 + T/(d lam)) + 2 log(1/delta)) + L / sqrt(lam), where W has scale sqrt(lam)."""
    rewards = reward.subgaussian * math.sqrt(d * math.log1p(T / (d * LAM)) - 2.0 * math.log(DELTA))
    return rewards + initial.norm_bound(d, math.log(DELTA))


CLAIM = Claim(
    id=ID,
    title="SubGaussian perturbations concentrate",
    statement="a subGaussian perturbation of an estimate exceeds its radius with probability at most 2 delta",
    latex=r"\mathbb{P}\Big(\|\tilde\theta_{t-1}\|_{V_{t-1}} \le \sigma_R\sqrt{d\log(1+\tfrac{T}{d\lambda})+2\log\tfrac1\delta}"
    r"+\tfrac{L}{\sqrt\lambda}\Big) \ge 1-2\delta",
    reference="lma:concentration lemma",
    section=Section.LAWS,
    assumptions=(
        "|W| <= L with probability 1 - delta",
        "Z sigma_R-subGaussian, independent",
        "arms chosen before Z",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the radius divided by f", measure),),
    broken=Broken("half of the radius", 2.0),
    costs={
        Scale.QUICK: Cost(0.8, 200),
        Scale.STANDARD: Cost(15, 400),
        Scale.PAPER: Cost(100, 1500),
    },
)
