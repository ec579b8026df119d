"""The chi-square tail of Laurent and Massart, which bounds the initial perturbations."""

import math
from dataclasses import replace

from ensample.claims.claim import (
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import always_at_most
from ensample.statistics import chi_square_tail

LEVELS = tuple(0.1 * 1.25**k for k in range(40))  # x from 0.1 to 600
SHOWN = 100  # the dimension of the figure


def measure(scale: Scale, seed: int) -> Judge:
    """P(chi^2_d - d >= (2/f) sqrt(d x) + 2 x) / e^-x is at most 1, for every d and x on a grid, by exact tails."""
    largest, drawn = scale.choose(100, 400, 1500), figure()

    def judge(f: float) -> Outcome:
        factor = 2.0 / f
        ratios = {(d, x): ratio(d, x, factor) for d in range(1, largest + 1) for x in LEVELS}
        worst = max(ratios, key=ratios.__getitem__)
        detail = f"largest at d = {worst[0]}, x = {worst[1]:.3g}; at d = 100, x = 10 the tail is {tail(100, 10.0, factor):.2g}"
        return replace(always_at_most(ratios[worst], 1.0, len(ratios), detail), figure=drawn)

    return judge


def tail(d: int, x: float, factor: float) -> float:
    return chi_square_tail(d, d + factor * math.sqrt(d * x) + 2.0 * x)


def ratio(d: int, x: float, factor: float) -> float:
    return tail(d, x, factor) * math.exp(x)


def figure() -> Figure:
    levels = tuple(0.5 * k for k in range(1, 41))
    curves = (
        Curve("as printed, sqrt(dx) + 2x", levels, tuple(tail(SHOWN, x, 1.0) for x in levels)),
        Curve("correct, 2 sqrt(dx) + 2x", levels, tuple(tail(SHOWN, x, 2.0) for x in levels)),
        Curve("exp(-x)", levels, tuple(math.exp(-x) for x in levels), bound=True),
    )
    return Figure(f"Chi-square tail, d = {SHOWN}", "x", "probability", curves, log_y=True)


CLAIM = Claim(
    id="chi-square",
    title="The chi-square tail",
    statement="a chi-square variable exceeds d + 2 sqrt(d x) + 2 x with probability at most exp(-x)",
    latex=r"\mathbb{P}\Big(\sum_{i=1}^d (Y_i^2 - 1) \ge 2\sqrt{dx} + 2x\Big) \le e^{-x}",
    reference="lma:chi-squared",
    section=Section.AUXILIARY,
    assumptions=("Y_1, ..., Y_d independent standard Gaussians", "x > 0"),
    kind=Kind.INEQUALITY,
    faults=(Fault("the term 2 sqrt(d x) divided by f", measure),),
    broken=Broken("as printed in the paper: sqrt(d x) in place of 2 sqrt(d x)", 2.0),
    note="The paper prints sqrt(dx) + 2x, which is false: at d = 100, x = 10 the probability is 6.7e-4, and e^-10 is 4.5e-5. "
    "Laurent and Massart have 2 sqrt(dx) + 2x, which is what the paper's proof uses.",
    costs={Scale.QUICK: Cost(0.2), Scale.STANDARD: Cost(2), Scale.PAPER: Cost(30)},
)
