"""Bounds on the regret: on the sum over all rounds, and on each round.

If every estimate that might act is within gamma of theta* and one is optimistic with probability at
least p, then

    regret_t <= gamma |X_t|_{V^-1} + (2 gamma / p) E|X_t|_{V^-1},

where the expectation is over the estimate that acts, given the past: for an ensemble a mean over
its members' favourite arms. The bounds on the sum are too large to be missed; in a simulation every
quantity of a round is known, so that the inequality can be checked there.

The problem is one on which weak perturbations show. One arm pays `GAP` on average; the other is so
short that playing it teaches nothing and pays nothing. If unlucky rewards make all members prefer
the short arm, both widths are tiny and the regret is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Figure, Judge, Measure, Outcome, Scale, curve
from ensample.claims.evidence import CLAIM_ALARM, Trials, cell, each_at_least, weakest
from ensample.claims.recorded import replicates, watch
from ensample.policies import EnsembleSampling, Recipe
from ensample.problems import Family, LinearProblem, Problem
from ensample.simulation import simulate
from ensample.theory import Guarantee, Setting
from ensample.types import FloatArray

GAP = 0.05


@dataclass(frozen=True, eq=False)
class Case:
    """A recipe at the constants of a setting, on a problem of that setting, and its guarantee."""

    name: str
    recipe: Recipe
    problem: Problem | Family
    setting: Setting
    guarantee: Guarantee
    shown: bool = False  # in the figure
    runs: int = 0  # if more are needed than decide when all agree


def play(claim: str, cases: Sequence[Case], seed: int, tests: int = 0) -> list[FloatArray]:
    """Return the regret of every case after its horizon, on enough runs to decide each test."""
    regrets = []
    for place, case in enumerate(cases):
        enough = runs_to_decide(case.guarantee.probability, tests or len(cases))
        runs, problem, address = max(case.runs, enough), case.problem, cell(f"{claim} {place}")
        horizon = case.setting.horizon
        found = simulate(case.recipe, problem, horizon, runs, seed, checkpoints=1, cell=address)
        regrets.append(found.regret[:, -1])
    return regrets


def runs_to_decide(confidence: float, tests: int) -> int:
    """Return the runs, and one more, after which P >= confidence is decided if all agree."""
    likelier = max(confidence, 1.0 - confidence)
    return int(np.ceil(np.log(CLAIM_ALARM / tests / 2.0) / np.log(likelier))) + 1


def judge(
    cases: Sequence[Case], regrets: Sequence[FloatArray], f: float, tests: int = 0
) -> Outcome:
    """P(R(T) <= bound / f) >= confidence in every case; the alarm is split over `tests`."""
    trials = []
    for case, regret in zip(cases, regrets, strict=True):
        bound, trivial = case.guarantee.bound / f, 2.0 * case.setting.norm * case.setting.horizon
        detail = (
            f"{case.name}, T = {case.setting.horizon:,}: largest regret "
            f"{regret.max() / bound:.2g} of the bound, which is {bound / trivial:.2g} of 2ST"
        )
        below = int((regret <= bound).sum())
        trials.append(Trials(below, regret.size, case.guarantee.probability, detail))
    return each_at_least(trials, tests)


def bound_against_regret(
    title: str, cases: Sequence[Case], regrets: Sequence[FloatArray]
) -> Figure:
    """Draw mean and largest regret of the shown cases, with the bound and the trivial 2ST."""
    pairs = [(case, regret) for case, regret in zip(cases, regrets, strict=True) if case.shown]
    x = [case.setting.horizon for case, _ in pairs]
    trivial = [2.0 * case.setting.norm * case.setting.horizon for case, _ in pairs]
    curves = (
        curve("bound", x, (case.guarantee.bound for case, _ in pairs), bound=True),
        curve("2ST, always true", x, trivial, bound=True),
        curve("largest regret", x, (regret.max() for _, regret in pairs)),
        curve("mean regret", x, (regret.mean() for _, regret in pairs)),
    )
    return Figure(title, "horizon", "regret", curves, log_x=True, log_y=True)


def timid(short: float) -> LinearProblem:
    """Return the problem of one arm that pays, and one of length `short` that does not."""
    return LinearProblem(FiniteArms(np.array([[1.0, 0.0], [0.0, short]])), [GAP, 0.0], 1.0)


TIMID = timid(1e-5)


@dataclass(frozen=True)
class Rounds:
    """The inequality in all rounds of a run, with probability `good`.

    `ratio(strength, seed, part)` plays run number `part` with perturbations multiplied by
    `strength` and returns the largest regret of a round over its bound.
    """

    ratio: Callable[[float, int, int], float]
    good: float
    what: str = "of a round"  # in the detail of the outcome

    def played(self, scale: Scale, seed: int, tests: int, strength: float = 1.0) -> FloatArray:
        """Return the largest ratio of each run: [runs]."""
        runs = scale.choose(1, 4, 40) * runs_to_decide(self.good, tests)
        return np.array(replicates(lambda part: self.ratio(strength, seed, part), runs))

    def judged(self, ratios: FloatArray, f: float, tests: int) -> Outcome:
        """P(every round keeps its bound, divided by f) >= good."""
        largest = f"at most {f * ratios.max():.2g} of its bound in {ratios.size} runs"
        kept, detail = int((f * ratios <= 1.0).sum()), f"regret {self.what} {largest}"
        return each_at_least([Trials(kept, ratios.size, self.good, detail)], tests)

    def weaken(self, scale: Scale, seed: int) -> Judge:
        """Measure the inequality alone, for perturbations divided by f."""
        return lambda f: self.judged(self.played(scale, seed, 1, 1.0 / f), 1.0, 1)


def sum_and_rounds(
    claim: str, cases: Callable[[Scale], Sequence[Case]], rounds: Rounds, title: str = ""
) -> Measure:
    """Return a measure of the bounds on the sum in every case and of the inequality of a round.

    With a title it draws a figure.
    """

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
    radius_and_chance: tuple[float, float],
    address: tuple[int, str, int],
) -> float:
    """Return the largest regret of a round over its bound in a run of an ensemble.

    The constants are (gamma, p), and the address of the run is (seed, claim, part).
    """
    gamma, p = radius_and_chance
    return max(
        look.regret / (gamma * look.width + 2.0 * gamma / p * float(look.widths.mean()))
        for look in watch(recipe, world, setting.horizon, *address)
    )
