"""The length of an initial vector with subGaussian coordinates."""

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_most, weakest
from ensample.perturbations import CenteredBinomial, Gaussian, Perturbation, Rademacher, Uniform
from ensample.types import FloatArray

ID = "initial-norm"
LAWS: tuple[Perturbation, ...] = (Gaussian(), Rademacher(), Uniform(), CenteredBinomial(3))
DIMS = (1, 10, 100)
DELTAS = (0.3, 0.05)
CHUNK = 50_000


def measure(scale: Scale, seed: int) -> Judge:
    """How often |W| exceeds sigma sqrt(2d + 4 log(1/delta)), for four laws, three dimensions and two deltas."""
    draws = scale.choose(3000, 100_000, 1_000_000)
    alarm = CLAIM_ALARM / (len(LAWS) * len(DIMS) * len(DELTAS))
    lengths = [
        (d, norms(law, d, draws, generator(seed, ID, 1000 * part + d)) / law.subgaussian)
        for part, law in enumerate(LAWS)
        for d in DIMS
    ]
    laws = ", ".join(type(law).__name__ for law in LAWS)

    def judge(f: float) -> Outcome:
        outcomes = []
        for d, length in lengths:
            for delta in DELTAS:
                longer = int((f * length > math.sqrt(2.0 * d - 4.0 * math.log(delta))).sum())
                outcomes.append(probability_at_most(longer, draws, delta, alarm=alarm))
        return replace(weakest(outcomes), detail=f"{laws}; d = 1, 10, 100; delta = 0.3, 0.05")

    return judge


def norms(law: Perturbation, d: int, draws: int, rng: Generator) -> FloatArray:
    """Lengths of many vectors, drawn in parts that memory can hold."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    return np.concatenate(
        [np.linalg.norm(law.draw_vectors(rng, size, d), axis=1) for size in sizes]
    )


CLAIM = Claim(
    id=ID,
    title="The length of an initial vector",
    statement="a vector of i.i.d. subGaussian coordinates exceeds sigma sqrt(2d + 4 log(1/delta)) with chance <= delta",
    latex=r"\mathbb{P}\Big(\|W\|_2 \le \sigma_I\sqrt{2d + 4\log\tfrac1\delta}\Big) \ge 1-\delta",
    reference="lma:bound 2norm",
    section=Section.LAWS,
    assumptions=("coordinates i.i.d. and sigma_I-subGaussian",),
    kind=Kind.PROBABILITY,
    faults=(Fault("the length divided by f", measure),),
    broken=Broken("half of the length", 2.0),
    note="The paper writes sigma^2-subGaussian here and sigma-subGaussian elsewhere; the constant meant is the same sigma.",
    costs={Scale.QUICK: Cost(0.3, 100), Scale.STANDARD: Cost(4, 150), Scale.PAPER: Cost(40, 150)},
)
