"""A Gaussian perturbation exceeds its own size in any direction with probability p_N."""

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_equals, weakest
from ensample.claims.recorded import record
from ensample.perturbations import P_N, Gaussian
from ensample.theory import Setting, radius
from ensample.types import FloatArray

ID = "gaussian-anticoncentration"
TOLERANCE = 0.03
CHUNK = 200_000


def measure(scale: Scale, seed: int) -> Judge:
    """P(u'Z >= beta |u|) for Z ~ N(0, beta^2 I), along one coordinate, a flat direction and U of a run."""
    chunks = scale.choose(5, 50, 1000)
    beta = radius(Setting(dim=4, arms=12, horizon=12, noise=0.5, norm=1.0))
    directions = {
        "one coordinate": np.ones(1),
        "flat": np.ones(8),
        "U of a run": direction_of_run(seed),
    }
    reaches = {
        name: far_reaches(u / np.linalg.norm(u), beta, chunks, generator(seed, ID, part))
        for part, (name, u) in enumerate(directions.items())
    }

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, reach in reaches.items():
            hits = int((reach >= f).sum())
            detail = f"{name} {hits / (chunks * CHUNK):.5f}"
            outcomes.append(
                probability_equals(
                    hits, chunks * CHUNK, P_N, TOLERANCE, detail, CLAIM_ALARM / len(directions)
                )
            )
        return weakest(outcomes)

    return judge


def far_reaches(u: FloatArray, beta: float, chunks: int, rng: Generator) -> FloatArray:
    """u'Z / beta of all draws that reach 1: smaller scales than beta need no others."""
    law = Gaussian(beta)
    kept = []
    for _ in range(chunks):
        reach = law.draw(rng, (CHUNK, u.size)) @ u / beta
        kept.append(reach[reach >= 1.0])
    return np.concatenate(kept)


def direction_of_run(seed: int) -> FloatArray:
    """U after 12 rounds of ensemble sampling: [d + 12]."""
    history = record(seed, ID, 100, rounds=12)
    Phi = history.phi(12)
    return np.asarray(np.linalg.solve(history.V[12], Phi).T @ history.best)


CLAIM = Claim(
    id=ID,
    title="Gaussian perturbations are anti-concentrated",
    statement="along any fixed direction a Gaussian perturbation reaches beta |u| with probability p_N = 0.1587",
    latex=r"Z\sim\mathcal{N}(0,\alpha^2 I_n)\ \Rightarrow\ \mathbb{P}\big(u^\top Z \ge \alpha\|u\|_2\big) = p_N",
    reference="fact:gaussian",
    section=Section.OPTIMISM,
    assumptions=("u fixed: not a function of Z",),
    kind=Kind.PROBABILITY,
    faults=(Fault("the scale beta of the perturbations divided by f", measure),),
    broken=Broken("perturbations at half of beta", 2.0),
    note=f"p_N = {P_N:.6f}. The paper's inequality is an equality, and its 0.15 only a lower bound.",
    costs={Scale.QUICK: Cost(0.6, 150), Scale.STANDARD: Cost(5, 150), Scale.PAPER: Cost(100, 1500)},
)
