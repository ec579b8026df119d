"""The inequality behind the bounds on the regret, round by round, beside the bounds on the sum.

If every estimate that might act is within gamma of theta* and one is optimistic with probability at least p, then

    regret_t <= gamma |X_t|_{V^-1} + (2 gamma / p) E|X_t|_{V^-1},

where the expectation is over the estimate that acts, given the past: for an ensemble a mean over its members' favourite arms.
Every quantity is known in a simulation, so that the inequality can be looked at in each round, where the bound on the sum over
all of them is too large to be missed.

The problem is one on which timidity shows. One arm pays `GAP` on average; the other is so short that playing it teaches
nothing and pays nothing. If unlucky rewards make all members prefer the short arm, both widths are tiny and the regret is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Fault, Judge, Measure, Outcome, Scale
from ensample.claims.evidence import CLAIM_ALARM, probability_at_least, weakest
from ensample.claims.regrets import Case, bound_against_regret, judge, play, runs_to_decide
from ensample.claims.watched import replicates, watch
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.theory import Setting
from ensample.types import FloatArray

GAP = 0.05


def timid(short: float) -> LinearProblem:
    """One arm that pays, and one of length `short` that does not."""
    return LinearProblem(FiniteArms(np.array([[1.0, 0.0], [0.0, short]])), [GAP, 0.0], 1.0)


TIMID = timid(1e-5)


@dataclass(frozen=True)
class Rounds:
    """The inequality in all rounds of a run, with probability `good`.

    `ratio(strength, seed, part)` plays run number `part` with perturbations multiplied by `strength`, and answers with the
    largest regret of a round over its bound.
    """

    ratio: Callable[[float, int, int], float]
    good: float
    what: str = "of a round"  # in the words of the outcome

    def played(self, scale: Scale, seed: int, tests: int, strength: float = 1.0) -> FloatArray:
        """The largest ratio of each run, as many runs as decide one of so many tests: [runs]."""
        runs = scale.choose(1, 4, 40) * runs_to_decide(self.good, tests)
        return np.array(replicates(lambda part: self.ratio(strength, seed, part), runs))

    def judged(self, ratios: FloatArray, f: float, tests: int) -> Outcome:
        """P(every round keeps its bound, divided by f) >= good."""
        detail = (
            f"regret {self.what} at most {f * ratios.max():.2g} of its bound in {ratios.size} runs"
        )
        kept = int((f * ratios <= 1.0).sum())
        return probability_at_least(kept, ratios.size, self.good, detail, CLAIM_ALARM / tests)

    def weaken(self, scale: Scale, seed: int) -> Judge:
        """A measure of the inequality alone, for perturbations divided by f."""
        return lambda f: self.judged(self.played(scale, seed, 1, 1.0 / f), 1.0, 1)

    def weakened(self, largest: float = 100.0) -> Fault:
        return Fault("the perturbations divided by f", self.weaken, largest)


def sum_and_rounds(
    claim: str, cases: Callable[[Scale], Sequence[Case]], rounds: Rounds, title: str = ""
) -> Measure:
    """A measure of the bounds on the sum over rounds, in every case, and of the inequality of a round; with a title, drawn."""

    def measure(scale: Scale, seed: int) -> Judge:
        listed = cases(scale)
        tests = len(listed) + 1
        regrets, ratios = play(claim, listed, seed, tests), rounds.played(scale, seed, tests)
        drawn = bound_against_regret(title, listed, regrets) if title else None

        def judged(f: float) -> Outcome:
            found = weakest([judge(listed, regrets, f, tests), rounds.judged(ratios, f, tests)])
            return replace(found, figure=drawn)

        return judged

    return measure


def largest_ratio(
    recipe: EnsembleSampling,
    world: LinearProblem,
    setting: Setting,
    gamma: float,
    p: float,
    seed: int,
    claim: str,
    part: int,
) -> float:
    """The largest regret of a round over its bound in a run of an ensemble."""
    looks = watch(recipe, world, setting.horizon, seed, claim, part)
    return max(
        look.regret / (gamma * look.width + 2.0 * gamma / p * float(look.widths.mean()))
        for look in looks
    )
