"""With the members in turn, the inequality that Theorem 1 sums up is false: some rounds have no chance of optimism."""

from functools import partial

import numpy as np

from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import probability_at_least
from ensample.claims.rounds import TIMID
from ensample.claims.watched import replicates, watch
from ensample.members import UNIFORM_MEMBER, MemberRule, RoundRobin
from ensample.perturbations import P_N
from ensample.policies import EnsembleSampling
from ensample.theory import Setting, estimator_radius, sharp_size

ID = "round-robin-optimism"
SETTING = Setting(dim=2, arms=2, horizon=60, noise=1.0, norm=1.0, delta=0.1)
OFTEN = 0.9


def measure(scale: Scale, seed: int, member: MemberRule | None = None) -> Judge:
    """How often a run has a round whose regret exceeds gamma |X_t| + (2 gamma/p) E|X_t|, given the past."""
    runs = scale.choose(140, 500, 5000)
    worst = np.array(replicates(partial(largest_ratio, member or RoundRobin(), seed), runs))

    def judge(f: float) -> Outcome:
        detail = (
            f"{sharp_size(SETTING):,} members, {SETTING.horizon} rounds: "
            f"median of the largest ratio {np.median(worst):.3g}"
        )
        return probability_at_least(int((worst > f).sum()), runs, OFTEN, detail)

    return judge


def largest_ratio(rule: MemberRule, seed: int, part: int) -> float:
    """The largest regret over its bound, p = p_N / 4, with the expected width under the rule: of one member or of all."""
    theorem = EnsembleSampling.from_theorem(SETTING)
    recipe = EnsembleSampling(sharp_size(SETTING), theorem.unit_scale, member=rule)
    gamma, ratios = estimator_radius(SETTING), []
    for t, look in enumerate(watch(recipe, TIMID, SETTING.horizon, seed, ID, part)):
        weights = rule.weights(t, recipe.size, lambda: np.zeros(recipe.size))
        expected = float(weights @ look.widths / weights.sum())
        ratios.append(look.regret / (gamma * look.width + 8.0 * gamma / P_N * expected))
    return max(ratios)


CLAIM = Claim(
    id=ID,
    title="Members in turn: no bound of a round",
    statement="with the members in turn, 9 runs in 10 have a round that breaks the inequality behind Theorem 1",
    latex=r"\mathcal{J}_t = t \bmod m:\quad \mathbb{P}\Big(\exists t:\ x^{*\top}\theta^* - X_t^\top\theta^* > "
    r"\gamma_T\big(1 + \tfrac{8}{p_N}\big)\|X_t\|_{V_{t-1}^{-1}}\Big) \ge 0.9",
    reference="thm:enssamp",
    section=Section.OPTIMISM,
    assumptions=(
        "the perturbations are part of the history, as in the proof",
        "two arms, one of them too short to teach anything; enough members for Theorem 1, of which enough are optimistic",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the bound of a round multiplied by f", measure),),
    broken=Broken(
        "members drawn uniformly", lambda scale, seed: measure(scale, seed, UNIFORM_MEMBER)(SOUND)
    ),
    note="Algorithm 1 allows any member rule, but the proof of Theorem 1 covers the uniform one only. In turn, the member of a "
    "round is known, so that the chance of an optimistic round is 0 or 1: where it is 0 the expected width is that of the arm "
    "played, and nothing bounds the regret. For round robin with m < T no bound is claimed, and none of this kind can be.",
    costs={Scale.QUICK: Cost(0.8), Scale.STANDARD: Cost(4), Scale.PAPER: Cost(60)},
)
