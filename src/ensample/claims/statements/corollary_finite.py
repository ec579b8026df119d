"""The Corollary: the regret of LinPHE, on finitely many arms."""

import math
from dataclasses import replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.regrets import Case, bound_against_regret, judge, play
from ensample.policies import PerturbedHistory
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.theory import Setting, elliptical_potential_bound

__all__ = ["CLAIM", "case"]

ID = "corollary-linphe-finite"


def check(scale: Scale, seed: int, with_radius: bool = True) -> Outcome:
    """Regret of LinPHE at the Corollary's constants against B(gamma_T, p_N / 2)."""
    longest = scale.choose(4000, 100_000, 1_000_000)
    sphere = problem("sphere", dim=5, arms=20, noise=1.0)
    cases = [
        case("sphere", Setting(5, 20, horizon, 1.0, 1.0), sphere, with_radius, shown=True)
        for horizon in (100, longest // 10, longest)
    ]
    biased = problem("kveton", dim=3, arms=10)
    cases.append(case("Bernoulli rewards", Setting(3, 10, longest // 4, 0.5, 1.0, 2.0), biased, with_radius))
    copies = problem("adversarial-duplicates", dim=3, arms=1000, centres=3, noise=0.3)
    cases.append(case("near-copies", Setting(3, 1000, longest // 8, 0.3, 1.0), copies, with_radius))
    if scale is not Scale.QUICK:  # one dimension and no noise: the least horizon at which the bound is not vacuous
        line = LinearProblem(FiniteArms(np.array([[-1.0], [1.0]])), [1.0], 0.0)
        cases.append(case("a line without noise", Setting(1, 2, 1_500_000, 0.0, 1.0, delta=1 / 6), line, with_radius))
    regrets = play(ID, cases, seed)
    return replace(judge(cases, regrets), figure=bound_against_regret("LinPHE, d = 5, K = 20", cases, regrets))


def case(name: str, setting: Setting, world: Problem | Family, with_radius: bool, shown: bool = False) -> Case:
    """LinPHE at the Corollary's constants, with its bound or with the broken one."""
    recipe = PerturbedHistory.from_theorem(setting)
    guarantee = recipe.guarantee(setting)
    if not with_radius:
        guarantee = replace(guarantee, bound=math.sqrt(setting.horizon * elliptical_potential_bound(setting)))
    return Case(f"{name}, d = {setting.dim}", recipe, world, setting, guarantee, shown)


CLAIM = Claim(
    id=ID,
    title="The Corollary for LinPHE, finitely many arms",
    statement="LinPHE has regret at most B(gamma_T, p_N/2), but for probability 3 delta: finitely many arms",
    latex=r"\mathbb{P}\Big(R(T) \le \gamma_T\big(1+\tfrac{4}{p_N}\big)\sqrt{2dT\log(1+\tfrac{T}{d\lambda})}"
    r" + \tfrac{2\gamma_T}{p_N}\sqrt{\tfrac{2T}{\lambda}\log\tfrac1\delta}\Big) \ge 1-3\delta",
    reference="cor:phe",
    section=Section.HISTORY,
    assumptions=("arms of norm <= 1, |theta*| <= S", "sigma-subGaussian noise", "lam >= 1, Gaussian laws at beta_T"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken(
        "the bound without gamma_T (1 + 4/p_N), that of estimates always optimistic and within 1 of theta*",
        lambda scale, seed: check(scale, seed, with_radius=False),
    ),
    note="Half of Theorem 1's bound, and as far above the regret: at quick scale it exceeds the trivial 2ST. From standard "
    "scale on a case is included in which it does not: one dimension, no noise, 1.5 million rounds.",
    costs={Scale.QUICK: Cost(0.5), Scale.STANDARD: Cost(10), Scale.PAPER: Cost(200)},
)
