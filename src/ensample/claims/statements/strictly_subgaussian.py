"""The laws that the paper names are subGaussian with their own variance: scaled to variance 1 they are admissible."""

from math import comb

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most, weakest
from ensample.types import FloatArray

LEAST_VARIANCE = 0.5


def measure(scale: Scale, seed: int) -> Judge:
    """The largest log E exp(sZ) / (s^2 / 2) over s, for each law scaled to variance 1: at most 1."""
    tilts = np.geomspace(1e-3, 30.0, scale.choose(2000, 20_000, 200_000))
    largest = {
        name: float((moments / (0.5 * tilts**2)).max())
        for name, moments in log_moments(tilts).items()
    }

    def judge(f: float) -> Outcome:
        return weakest(
            [
                always_at_most(value, 1.0 / f, tilts.size, f"{name}: {value:.4g} of N(0, 1)'s")
                for name, value in largest.items()
            ]
        )

    return judge


def log_moments(s: FloatArray) -> dict[str, FloatArray]:
    """log E exp(s Z) of variance 1, for every tilt s."""
    laws = {
        "signs": np.logaddexp(s, -s) - np.log(2.0),
        "uniform": np.log(np.sinh(np.sqrt(3.0) * s) / (np.sqrt(3.0) * s)),
    }
    for trials in (2, 5, 20):
        points = (2.0 * np.arange(trials + 1) - trials) / trials**0.5
        logs = np.log([float(comb(trials, k)) for k in range(trials + 1)]) - trials * np.log(2.0)
        laws[f"binomial of {trials}"] = np.logaddexp.reduce(
            logs[:, None] + points[:, None] * s, axis=0
        )
    return laws


CLAIM = Claim(
    id="strictly-subgaussian",
    title="The laws that are named are admissible",
    statement="signs, uniform and centred binomial laws of variance 1 are 1-subGaussian, and 1 is above the 1/2 asked for",
    latex=r"\mathbb{E}\,e^{sZ} \le e^{s^2/2},\quad \mathrm{Var}(Z) = 1 \ge \tfrac12",
    reference="rmk:non gaussian",
    section=Section.LAWS,
    assumptions=("laws scaled to variance 1: the uniform one is on [-sqrt 3, sqrt 3]",),
    kind=Kind.INEQUALITY,
    faults=(Fault("the squared subGaussian constant divided by f", measure),),
    broken=Broken("half of the squared subGaussian constant", 2.0),
    note="No law has a smaller constant than its standard deviation; these attain it. The uniform law on [-1, 1] has variance "
    "1/3 and squared constant 1/3: scaled to the lemma's form, which asks for constant 1, it is the one on [-sqrt 3, sqrt 3].",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.2), Scale.PAPER: Cost(1)},
)
