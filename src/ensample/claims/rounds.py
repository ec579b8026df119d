"""The inequality behind the bounds on the regret, round by round.

If every estimate that might act is within gamma of theta* and one is optimistic with probability at least p, then

    regret_t <= gamma |X_t|_{V^-1} + (2 gamma / p) E|X_t|_{V^-1},

where the expectation is over the member that acts, given the past: a mean over the members' favourite arms. Every quantity is
known in a simulation, so that the inequality can be looked at in each round, where the bound on the sum over all of them is
too large to be missed.

The problem is one on which timidity shows. One arm pays `GAP` on average; the other is so short that playing it teaches
nothing and pays nothing. If unlucky rewards make all members prefer the short arm, both widths are tiny and the regret is not.
"""

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.watched import watch
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.theory import Setting

__all__ = ["GAP", "TIMID", "largest_ratio", "timid"]

GAP = 0.05


def timid(short: float) -> LinearProblem:
    """One arm that pays, and one of length `short` that does not."""
    return LinearProblem(FiniteArms(np.array([[1.0, 0.0], [0.0, short]])), [GAP, 0.0], 1.0)


TIMID = timid(1e-5)


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
    """The largest regret of a round over its bound in a run."""
    looks = watch(recipe, world, setting.horizon, seed, claim, part)
    return max(look.regret / (gamma * look.width + 2.0 * gamma / p * float(look.widths.mean())) for look in looks)
