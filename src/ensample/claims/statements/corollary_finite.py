"""The Corollary: the regret of LinPHE, on finitely many arms."""

import math

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Fault, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.regrets import Case
from ensample.claims.rounds import TIMID, Rounds, sum_and_rounds
from ensample.perturbations import P_N
from ensample.policies import PerturbedHistory
from ensample.problems import Family, Problem, problem
from ensample.randomness import RunStream
from ensample.statistics import normal_cdf
from ensample.theory import Setting, estimator_radius

ID = "corollary-linphe-finite"
ROUNDS = Setting(dim=2, arms=2, horizon=60, noise=1.0, norm=1.0, delta=0.03)
GOOD = (
    1.0 - 2.0 * ROUNDS.delta
)  # of the events of a round; the third delta is for the sum over rounds


def cases(scale: Scale) -> list[Case]:
    """Random arms, Bernoulli rewards, and a thousand arms of which most are near-copies."""
    longest = scale.choose(4000, 100_000, 1_000_000)
    sphere = problem("sphere", dim=5, arms=20, noise=1.0)
    listed = [
        case("sphere", Setting(5, 20, horizon, 1.0, 1.0), sphere, shown=True)
        for horizon in (100, longest // 10, longest)
    ]
    clicks = case(
        "Bernoulli rewards",
        Setting(3, 10, longest // 4, 0.5, 1.0, 2.0),
        problem("kveton", dim=3, arms=10),
    )
    copies = problem("adversarial-duplicates", dim=3, arms=1000, centres=3, noise=0.3)
    return [*listed, clicks, case("near-copies", Setting(3, 1000, longest // 8, 0.3, 1.0), copies)]


def case(name: str, setting: Setting, world: Problem | Family, shown: bool = False) -> Case:
    """LinPHE at the Corollary's constants, with its bound."""
    recipe = PerturbedHistory.from_theorem(setting)
    return Case(
        f"{name}, d = {setting.dim}", recipe, world, setting, recipe.guarantee(setting), shown
    )


def ratio(strength: float, seed: int, part: int) -> float:
    """regret_t / (gamma |X_t| + (2 gamma/p) E|X_t|), p = p_N / 2, at most over a run on the timid problem.

    With two arms the probability of each is a Gaussian tail, so that the expectation is exact.
    """
    recipe = PerturbedHistory.from_theorem(ROUNDS)
    scale, gamma, p = strength * recipe.unit_scale, estimator_radius(ROUNDS), P_N / 2.0
    assert isinstance(TIMID.arms, FiniteArms)
    long, short = arms = TIMID.arms.features
    policy = PerturbedHistory(scale).start(
        TIMID.arms, int(generator(seed, ID, part).integers(1 << 62))
    )
    noise, largest = generator(seed, ID, part, RunStream.NOISE), 0.0
    for _ in range(ROUNDS.horizon):
        inverse = np.linalg.inv(policy.gram)
        widths = np.sqrt(((arms @ inverse) * arms).sum(axis=1))
        apart = math.sqrt((long - short) @ inverse @ (long - short))
        chance = float(normal_cdf(np.array((long - short) @ policy.mean / (scale * apart))))
        decision = policy.decide()
        regret = TIMID.best_mean() - TIMID.mean(decision.features)
        expected = chance * widths[0] + (1.0 - chance) * widths[1]
        largest = max(largest, regret / (gamma * widths[decision.arm] + 2.0 * gamma / p * expected))
        policy.update(decision, TIMID.reward(decision.features, noise))
    return float(largest)


IN_ROUNDS = Rounds(ratio, GOOD)

CLAIM = Claim(
    id=ID,
    title="The Corollary for LinPHE, finitely many arms",
    statement="LinPHE has regret at most B(gamma_T, p_N/2), but for probability 3 delta: finitely many arms",
    latex=r"\mathbb{P}\Big(R(T) \le \gamma_T\big(1+\tfrac{4}{p_N}\big)\sqrt{2dT\log(1+\tfrac{T}{d\lambda})}"
    r" + \tfrac{2\gamma_T}{p_N}\sqrt{\tfrac{2T}{\lambda}\log\tfrac1\delta}\Big) \ge 1-3\delta",
    reference="cor:phe",
    section=Section.HISTORY,
    assumptions=(
        "arms of norm <= 1, |theta*| <= S",
        "sigma-subGaussian noise",
        "lam >= 1, Gaussian laws at beta_T",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault(
            "the bounds divided by f", sum_and_rounds(ID, cases, IN_ROUNDS, "LinPHE, d = 5, K = 20")
        ),
        IN_ROUNDS.weakened(),
    ),
    broken=Broken(
        "perturbations at a hundredth of the scale",
        lambda scale, seed: IN_ROUNDS.weaken(scale, seed)(100.0),
    ),
    note="Half of Theorem 1's bound, and as far above the regret: no regret at these horizons could exceed it. The inequality "
    "of a round could: with two arms the expected width is known exactly, and LinPHE with perturbations that are too weak "
    "breaks it.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(10), Scale.PAPER: Cost(200)},
)
