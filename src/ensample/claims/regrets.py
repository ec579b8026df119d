"""Bounds on the regret against simulated regret."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ensample.claims.claim import Curve, Figure, Outcome
from ensample.claims.evidence import CLAIM_ALARM, cell, probability_at_least, weakest
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.simulation import simulate
from ensample.theory import Guarantee, Setting
from ensample.types import FloatArray


@dataclass(frozen=True, eq=False)
class Case:
    """A recipe at the constants of a setting, on a problem that the setting describes, and what is claimed."""

    name: str
    recipe: Recipe
    problem: Problem | Family
    setting: Setting
    guarantee: Guarantee
    shown: bool = False  # in the figure
    runs: int = 0  # where more are needed than decide if they all agree


def play(claim: str, cases: Sequence[Case], seed: int, tests: int = 0) -> list[FloatArray]:
    """The regret of every case after its horizon, on as many runs as decide one of `tests`, or one of the cases."""
    return [
        simulate(
            case.recipe,
            case.problem,
            case.setting.horizon,
            max(case.runs, runs_to_decide(case.guarantee.probability, tests or len(cases))),
            seed,
            checkpoints=1,
            cell=cell(f"{claim} {place}"),
        ).regret[:, -1]
        for place, case in enumerate(cases)
    ]


def runs_to_decide(confidence: float, tests: int) -> int:
    """Runs after which P >= confidence is decided if all of them succeed, and if all of them fail, and one to spare."""
    likelier = max(confidence, 1.0 - confidence)
    return int(np.ceil(np.log(CLAIM_ALARM / tests / 2.0) / np.log(likelier))) + 1


def judge(
    cases: Sequence[Case], regrets: Sequence[FloatArray], f: float, tests: int = 0
) -> Outcome:
    """P(R(T) <= bound / f) >= confidence in every case; the alarm is split over `tests`, or over the cases."""
    outcomes = []
    for case, regret in zip(cases, regrets, strict=True):
        bound, probability = case.guarantee.bound / f, case.guarantee.probability
        trivial = 2.0 * case.setting.norm * case.setting.horizon
        detail = (
            f"{case.name}, T = {case.setting.horizon:,}: largest regret {regret.max() / bound:.2g} of the bound, "
            f"which is {bound / trivial:.2g} of 2ST"
        )
        successes, alarm = int((regret <= bound).sum()), CLAIM_ALARM / (tests or len(cases))
        outcomes.append(probability_at_least(successes, regret.size, probability, detail, alarm))
    return weakest(outcomes)


def bound_against_regret(
    title: str, cases: Sequence[Case], regrets: Sequence[FloatArray]
) -> Figure:
    """Mean and largest regret of the shown cases over their horizons, with the bound and the trivial 2ST."""
    pairs = [(case, regret) for case, regret in zip(cases, regrets, strict=True) if case.shown]
    horizons = tuple(float(case.setting.horizon) for case, _ in pairs)
    curves = (
        Curve("bound", horizons, tuple(case.guarantee.bound for case, _ in pairs), bound=True),
        Curve(
            "2ST, always true",
            horizons,
            tuple(2.0 * case.setting.norm * case.setting.horizon for case, _ in pairs),
            bound=True,
        ),
        Curve("largest regret", horizons, tuple(float(regret.max()) for _, regret in pairs)),
        Curve("mean regret", horizons, tuple(float(regret.mean()) for _, regret in pairs)),
    )
    return Figure(title, "horizon", "regret", curves, log_x=True, log_y=True)
