"""The Corollary: the regret of LinPHE on infinitely many arms, the unit ball."""

from dataclasses import replace

import numpy as np

from ensample.arms import UnitBall
from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.regrets import bound_against_regret, judge, play
from ensample.claims.statements.corollary_finite import case
from ensample.problems import LinearProblem, RademacherNoise, problem
from ensample.theory import Setting

__all__ = ["CLAIM"]

ID = "corollary-linphe-infinite"


def check(scale: Scale, seed: int, with_radius: bool = True) -> Outcome:
    """Regret of LinPHE on the unit ball at the Corollary's constants against B(gamma_T, p_N / 2)."""
    longest = scale.choose(2000, 50_000, 500_000)
    cases = [
        case("ball", Setting(5, None, horizon, 1.0, 1.0), problem("ball", dim=5, noise=1.0), with_radius, shown=True)
        for horizon in (100, longest // 5, longest)
    ]
    signs = problem("ball", dim=2, noise=RademacherNoise(0.5))
    cases.append(case("ball, noise of two values", Setting(2, None, longest, 0.5, 1.0, 3.0), signs, with_radius))
    if scale is not Scale.QUICK:  # the interval [-1, 1] without noise: the least horizon at which the bound is not vacuous
        interval = LinearProblem(UnitBall(1), np.ones(1), 0.0)
        cases.append(case("interval without noise", Setting(1, None, 1_500_000, 0.0, 1.0, delta=1 / 6), interval, with_radius))
    regrets = play(ID, cases, seed)
    return replace(judge(cases, regrets), figure=bound_against_regret("LinPHE on the unit ball, d = 5", cases, regrets))


CLAIM = Claim(
    id=ID,
    title="The Corollary for LinPHE, infinitely many arms",
    statement="LinPHE has regret at most B(gamma_T, p_N/2), but for probability 3 delta: the unit ball",
    latex=r"\mathcal{X} = \{x: \|x\|_2 \le 1\}:\quad \mathbb{P}\big(R(T) \le B(\gamma_T, p_N/2)\big) \ge 1-3\delta",
    reference="cor:phe",
    section=Section.HISTORY,
    assumptions=("arms of norm <= 1, |theta*| <= S", "sigma-subGaussian noise", "lam >= 1, Gaussian laws at beta_T"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken(
        "the bound without gamma_T (1 + 4/p_N), that of estimates always optimistic and within 1 of theta*",
        lambda scale, seed: check(scale, seed, with_radius=False),
    ),
    note="Fresh perturbations need no union over histories, hence no count of arms. As for finitely many arms the bound is far "
    "above the regret; the case in which it is not vacuous, an interval without noise, needs standard scale.",
    costs={Scale.QUICK: Cost(0.4), Scale.STANDARD: Cost(12), Scale.PAPER: Cost(200)},
)
