"""Answer of a study: the lowest regret, sure differences, and runs that are stuck."""

from typing import NamedTuple

import numpy as np

from ensample.lab.analysis import stuck_runs
from ensample.lab.results import CellOutcome, Results
from ensample.numerals import aligned, numeral
from ensample.report.study.series import (
    Series,
    at_last_horizon,
    enumerated,
    has_several,
    problems,
    singles,
)
from ensample.report.study.tables import Field, StudyTable, simple_table
from ensample.statistics import CONFIDENCE, half_width

NAMED = 4  # policies in a sentence
STUCK = 6  # cells that are listed


class ProblemAnswer(NamedTuple):
    """Best policy of a problem, and those that are surely worse, all at once."""

    problem: str
    best: str
    mean: float
    beaten: list[str]
    close: list[str]  # not surely worse
    runs: int

    @property
    def policies(self) -> int:
        return 1 + len(self.beaten) + len(self.close)

    @property
    def pairs(self) -> int:
        return count_pairs(self.policies)


def answers(results: Results) -> list[ProblemAnswer]:
    """Return one for each problem with at least two policies, at its longest horizon."""
    several = has_several(results)
    groups = [group for group in problems(results) if len(group) > 1]
    return [answer_of(group, group[0].title(several)) for group in groups]


def answer_of(group: list[Series], title: str) -> ProblemAnswer:
    best = min(group, key=lambda one: one.level)
    regret = best.outcomes[0].regret
    found: dict[bool, list[str]] = {True: [], False: []}
    for one in group:
        if one is not best:
            is_worse = is_surely_worse(one.outcomes[0], best.outcomes[0], count_pairs(len(group)))
            found[is_worse].append(one.full_name)
    mean = float(regret[:, -1].mean())
    return ProblemAnswer(title, best.full_name, mean, found[True], found[False], len(regret))


def count_pairs(policies: int) -> int:
    """Count comparisons: the best is the data's choice, so any two policies might be compared."""
    return policies * (policies - 1) // 2


def is_surely_worse(one: CellOutcome, best: CellOutcome, comparisons: int) -> bool:
    """Test the paired difference by Student's t at level (1 - CONFIDENCE) / comparisons."""
    if len(one.regret) < 2 or len(one.regret) != len(best.regret):
        return False
    difference = one.regret[:, -1] - best.regret[:, -1]
    confidence = 1.0 - (1.0 - CONFIDENCE) / comparisons
    return bool(difference.mean() > half_width(difference, confidence))


def names(policies: list[str]) -> str:
    return enumerated(policies, NAMED, "; ")


def answer_words(found: list[ProblemAnswer]) -> list[str]:
    """Return a sentence or two for one problem, a count of who is best for several."""
    if len(found) == 1:
        return [sentence(found[0])]
    wins: dict[str, int] = {}
    for one in found:
        wins[one.best] = wins.get(one.best, 0) + 1
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    best = names([f"{name} on {count:,}" for name, count in ranked])
    alone = sum(not one.close for one in found) or "none"
    sure = f" On {alone} of them every other policy is surely worse than the best."
    sure = "" if found[0].runs < 2 else sure
    return [f"The lowest mean regret, of {len(found):,} problems: {best}.{sure}"]


def sentence(one: ProblemAnswer) -> str:
    first = f"{one.best} has the lowest mean regret, {numeral(one.mean)}."
    if one.runs < 2:
        return f"{first} With one run that may be chance."
    if not one.close:
        return f"{first} All others are surely worse."
    if not one.beaten:
        return f"{first} Of no other policy can it be said that it is worse."
    worse = f"Surely worse: {names(one.beaten)}."
    return f"{first} {worse} Not told apart from it: {names(one.close)}."


def surely_words(found: list[ProblemAnswer]) -> str:
    """Say what it takes to be surely worse, where the most policies are compared."""
    most = max(found, key=lambda one: one.policies)
    pairs = f"{most.pairs:,} {'pair' if most.pairs == 1 else 'pairs'} of {most.policies:,} policies"
    up_to = "up to " if any(one.policies < most.policies for one in found) else ""
    level = numeral((1.0 - CONFIDENCE) / most.pairs)
    return (
        "Surely: the difference to the best, run by run, is above zero by Student's t, at 95% for "
        "all comparisons on a problem together: who is best was chosen by the same runs, "
        f"so they are all {up_to}{pairs}, and one alone has to have p < {level}."
    )


def answer_table(found: list[ProblemAnswer]) -> StudyTable | None:
    """Return a row a problem; None where there is one."""
    if len(found) < 2:
        return None
    rows: list[list[str | Field]] = []
    for one in found:
        close, beaten = names(one.close), f"{len(one.beaten)} of {one.policies - 1}"
        sure = [close, beaten] if one.runs > 1 else ["", ""]
        rows.append([one.problem, Field(one.best, "best"), aligned(one.mean), *sure])
    columns = "problem*, lowest**, mean, not told apart from it**, surely worse"
    return simple_table(columns, rows)


def stuck_words(results: Results) -> list[str]:
    """Return a sentence for each cell with runs that never leave a wrong arm, the worst first."""
    found: list[tuple[float, str]] = []
    for one in at_last_horizon(singles(results)):
        outcome = one.outcomes[0]
        stuck = int(np.count_nonzero(stuck_runs(outcome.checkpoints, outcome.regret)))
        if stuck:
            words = stuck_sentence(one, stuck, has_several(results))
            found.append((stuck / len(outcome.regret), words))
    found.sort(key=lambda item: -item[0])
    more = [f"And {len(found) - STUCK:,} more cells have such runs."] if len(found) > STUCK else []
    return [words for _, words in found[:STUCK]] + more


def stuck_sentence(one: Series, stuck: int, several: bool) -> str:
    final = one.outcomes[0].regret[:, -1]
    mean, median = numeral(float(final.mean())), numeral(float(np.median(final)))
    runs = f"{stuck:,} of {len(final):,} runs" if len(final) > 1 else "the run"
    leave = "leaves" if stuck == 1 or len(final) == 1 else "leave"
    who = f"{one.full_name} ({one.title(several)})"
    return f"{who}: mean {mean}, median {median}: {runs} never {leave} a wrong arm."
