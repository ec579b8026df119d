"""The inequality of Azuma and Hoeffding, which turns expected widths into those of the arms played."""

import math

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most
from ensample.statistics import beta_cdf

CHANCES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)
DELTAS = tuple(0.9 * 0.5**k for k in range(40))


def measure(scale: Scale, seed: int) -> Judge:
    """P(S - E S > (b - a) sqrt(n/2 log(1/delta))) / delta is at most 1, for sums S of n variables in {a, b}, exactly.

    Of all variables in [a, b] with a given mean, those in {a, b} vary most; (a, b) may be taken as (0, 1).
    """
    lengths = np.unique(np.geomspace(1, scale.choose(300, 3000, 30_000), 25).astype(int))

    def judge(f: float) -> Outcome:
        ratios = {
            (int(n), p, delta): ratio(int(n), p, delta, f)
            for n in lengths
            for p in CHANCES
            for delta in DELTAS
        }
        worst = max(ratios, key=ratios.__getitem__)
        detail = f"largest at n = {worst[0]}, mean {worst[1]:g}, delta = {worst[2]:.2g}"
        return always_at_most(ratios[worst], 1.0, len(ratios), detail)

    return judge


def ratio(n: int, p: float, delta: float, f: float) -> float:
    level = n * p + math.sqrt(-0.5 * n * math.log(delta)) / f
    least = math.floor(level + 1e-9) + 1  # the smallest whole number above
    if least > n:
        return 0.0
    return beta_cdf(float(least), float(n - least + 1), p) / delta  # P(Bin(n, p) >= least)


CLAIM = Claim(
    id="azuma-hoeffding",
    title="The inequality of Azuma and Hoeffding",
    statement="n bounded variables exceed their means by more than (b - a) sqrt(n/2 log(1/delta)) with chance <= delta",
    latex=r"\mathbb{P}\Big(\sum_{i=1}^n\big(Z_i - \mathbb{E}[Z_i \mid \mathcal{F}_{i-1}]\big) \le (b-a)"
    r"\sqrt{\tfrac n2\log\tfrac1\delta}\Big) \ge 1-\delta",
    reference="lma:Azuma-Hoeffding inequality",
    section=Section.AUXILIARY,
    assumptions=(
        "Z_i in [a, b], adapted",
        "here: independent, with two values, where the law of the sum is known",
    ),
    kind=Kind.INEQUALITY,
    faults=(Fault("the deviation divided by f", measure),),
    broken=Broken("half of the deviation", 2.0),
    note="The paper prints E[Z_i | F_{t-1}] for E[Z_i | F_{i-1}]. It is used twice: over members, where Chernoff's inequality "
    "does better (see sharp-size), and over rounds, for the second term of the regret bound.",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.2), Scale.PAPER: Cost(0.5)},
)
