"""The length of an initial vector with subGaussian coordinates."""

import math
from dataclasses import replace

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_most, weakest
from ensample.perturbations import CenteredBinomial, Gaussian, Perturbation, Rademacher, Uniform

__all__ = ["CLAIM"]

ID = "initial-norm"
LAWS: tuple[Perturbation, ...] = (Gaussian(), Rademacher(), Uniform(), CenteredBinomial(3))
DIMS = (1, 10, 100)
DELTAS = (0.3, 0.05)


def check(scale: Scale, seed: int, share: float = 1.0) -> Outcome:
    """How often |W| exceeds sigma sqrt(2d + 4 log(1/delta)), for four laws, three dimensions and two deltas."""
    draws = scale.choose(3000, 100_000, 1_000_000)
    alarm, outcomes = CLAIM_ALARM / (len(LAWS) * len(DIMS) * len(DELTAS)), []
    for part, law in enumerate(LAWS):
        for d in DIMS:
            rng, lengths = generator(seed, ID, 1000 * part + d), np.empty(draws)
            for start in range(0, draws, 50_000):
                some = lengths[start : start + 50_000]
                some[:] = np.linalg.norm(law.draw_vectors(rng, some.size, d), axis=1)
            for delta in DELTAS:
                limit = share * law.subgaussian * math.sqrt(2.0 * d - 4.0 * math.log(delta))
                outcomes.append(probability_at_most(int((lengths > limit).sum()), draws, delta, alarm=alarm))
    laws = ", ".join(type(law).__name__ for law in LAWS)
    return replace(weakest(outcomes), detail=f"{laws}; d = 1, 10, 100; delta = 0.3, 0.05")


CLAIM = Claim(
    id=ID,
    title="The length of an initial vector",
    statement="a vector of i.i.d. subGaussian coordinates exceeds sigma sqrt(2d + 4 log(1/delta)) with chance <= delta",
    latex=r"\mathbb{P}\Big(\|W\|_2 \le \sigma_I\sqrt{2d + 4\log\tfrac1\delta}\Big) \ge 1-\delta",
    reference="lma:bound 2norm",
    section=Section.LAWS,
    assumptions=("coordinates i.i.d. and sigma_I-subGaussian",),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken("half of the length", lambda scale, seed: check(scale, seed, share=0.5)),
    note="The paper writes sigma^2-subGaussian here and sigma-subGaussian elsewhere; the constant meant is the same sigma.",
    costs={Scale.QUICK: Cost(0.3, 100), Scale.STANDARD: Cost(4, 150), Scale.PAPER: Cost(40, 150)},
)
