"""The length of a Gaussian vector."""

import math

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most
from ensample.statistics import chi_square_tail

DELTAS = tuple(0.9 * 0.6**k for k in range(60))  # from 0.9 to 5e-14


def measure(scale: Scale, seed: int) -> Judge:
    """P(|Z| >= sqrt d + sqrt(2 log(1/delta))) / delta is at most 1, for every d and delta on a grid, by exact tails."""
    largest = scale.choose(100, 1000, 5000)

    def judge(f: float) -> Outcome:
        ratios = {(d, delta): ratio(d, delta, f) for d in range(1, largest + 1) for delta in DELTAS}
        worst = max(ratios, key=ratios.__getitem__)
        return always_at_most(
            ratios[worst], 1.0, len(ratios), f"largest at d = {worst[0]}, delta = {worst[1]:.2g}"
        )

    return judge


def ratio(d: int, delta: float, f: float) -> float:
    length = math.sqrt(d) + math.sqrt(-2.0 * math.log(delta)) / f
    return chi_square_tail(d, length**2) / delta


CLAIM = Claim(
    id="gaussian-norm",
    title="The length of a Gaussian vector",
    statement="a standard Gaussian vector is longer than sqrt d + sqrt(2 log(1/delta)) with probability at most delta",
    latex=r"\mathbb{P}\Big(\|Z\|_2 \ge \sqrt d + \sqrt{2\log\tfrac1\delta}\Big) \le \delta",
    reference="lma:Chi squared tail inequality",
    section=Section.AUXILIARY,
    assumptions=("Z ~ N(0, I_d)", "0 < delta <= 1"),
    kind=Kind.INEQUALITY,
    faults=(Fault("the term sqrt(2 log(1/delta)) divided by f", measure),),
    broken=Broken("sqrt(log(1/delta)): the 2 forgotten", math.sqrt(2.0)),
    note="Bounds the initial perturbations in gamma~_T. It follows from the chi-square tail with the factor 2 that the paper "
    "leaves out when it prints it.",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.5), Scale.PAPER: Cost(4)},
)
