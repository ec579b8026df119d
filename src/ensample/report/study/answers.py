"""The answer first: who has the lowest regret, which differences survive, and which runs are stuck."""

from typing import NamedTuple

import numpy as np

from ensample.lab.analysis import stuck_runs
from ensample.lab.results import CellOutcome, Results
from ensample.numerals import aligned, numeral
from ensample.report.study.figures.series import Series, at_last_horizon, scenarios, singles
from ensample.report.study.tables import Column, Field, RowGroup, StudyTable, without_empty
from ensample.report.study.words import named
from ensample.statistics import CONFIDENCE, half_width

NAMED = 4  # policies in a sentence
STUCK = 6  # cells that are called out


class ProblemAnswer(NamedTuple):
    """Of one problem."""

    problem: str
    best: str
    mean: float
    beaten: list[
        str
    ]  # policies whose regret is higher, sure of all such statements of this problem at once
    close: list[str]  # those of which that cannot be said
    runs: int

    @property
    def policies(self) -> int:
        return 1 + len(self.beaten) + len(self.close)

    @property
    def pairs(self) -> int:
        return pairs_of(self.policies)


def answers(results: Results) -> list[ProblemAnswer]:
    """One for each problem with at least two policies, at its longest horizon."""
    several = len({outcome.cell.problem for outcome in results.outcomes}) > 1
    groups = scenarios(at_last_horizon(singles(results))).values()
    return [answer_of(group, group[0].title(several)) for group in groups if len(group) > 1]


def answer_of(group: list[Series], title: str) -> ProblemAnswer:
    best = min(group, key=lambda one: one.level)
    others = [one for one in group if one is not best]
    worse = [
        surely_worse(one.outcomes[0], best.outcomes[0], pairs_of(len(group))) for one in others
    ]
    names = [one.full_name for one in others]
    return ProblemAnswer(
        title,
        best.full_name,
        float(best.outcomes[0].regret[:, -1].mean()),
        [name for name, sure in zip(names, worse, strict=True) if sure],
        [name for name, sure in zip(names, worse, strict=True) if not sure],
        len(best.outcomes[0].regret),
    )


def pairs_of(policies: int) -> int:
    """The comparisons of a problem: as the best is the data's choice, it might have been any two that are compared."""
    return policies * (policies - 1) // 2


def surely_worse(one: CellOutcome, best: CellOutcome, comparisons: int) -> bool:
    """Whether its regret, less that of the best, run by run, is above 0 by Student's t at (1 - CONFIDENCE) / comparisons."""
    if len(one.regret) < 2 or len(one.regret) != len(best.regret):
        return False
    difference = one.regret[:, -1] - best.regret[:, -1]
    sure = 1.0 - (1.0 - CONFIDENCE) / comparisons
    return bool(difference.mean() > half_width(difference, sure))


def answer_words(found: list[ProblemAnswer]) -> list[str]:
    """A sentence or two for one problem; a count of who is best for several."""
    if len(found) == 1:
        return [sentence(found[0])]
    wins: dict[str, int] = {}
    for one in found:
        wins[one.best] = wins.get(one.best, 0) + 1
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    said = named([f"{name} on {count:,}" for name, count in ranked], NAMED)
    alone = sum(not one.close for one in found)
    tail = (
        ""
        if found[0].runs < 2
        else f" On {alone or 'none'} of them every other policy is surely worse than the best."
    )
    return [f"The lowest mean regret, of {len(found):,} problems: {said}.{tail}"]


def sentence(one: ProblemAnswer) -> str:
    first = f"{one.best} has the lowest mean regret, {numeral(one.mean)}."
    if one.runs < 2:
        return f"{first} With one run that may be chance."
    if not one.close:
        return f"{first} All others are surely worse."
    if not one.beaten:
        return f"{first} Of no other policy can it be said that it is worse."
    return f"{first} Surely worse: {named(one.beaten, NAMED)}. Not told apart from it: {named(one.close, NAMED)}."


def surely_words(found: list[ProblemAnswer]) -> str:
    """What it takes to be surely worse, where the most policies are compared."""
    most = max(found, key=lambda one: one.policies)
    said = f"{most.pairs:,} {'pair' if most.pairs == 1 else 'pairs'} of {most.policies:,} policies"
    up_to = "up to " if any(one.policies < most.policies for one in found) else ""
    return (
        "Surely: the difference to the best, run by run, is above zero by Student's t, at 95% for all comparisons on a problem "
        f"together: who is best was chosen by the same runs, so they are all {up_to}{said}, and one alone has to have "
        f"p < {numeral((1.0 - CONFIDENCE) / most.pairs)}."
    )


def answer_table(found: list[ProblemAnswer]) -> StudyTable | None:
    """A row a problem; None where there is one."""
    if len(found) < 2:
        return None
    rows = [
        [
            Field(one.problem),
            Field(one.best, "best"),
            Field(aligned(one.mean)),
            Field(named(one.close, NAMED) if one.runs > 1 else ""),
            Field(
                f"{len(one.beaten)} of {len(one.beaten) + len(one.close)}" if one.runs > 1 else ""
            ),
        ]
        for one in found
    ]
    columns = [Column("problem", False), Column("lowest", False, True), Column("mean")]
    columns += [Column("not told apart from it", False, True), Column("surely worse")]
    return without_empty(StudyTable(columns, [RowGroup("", rows)]))


def stuck_words(results: Results) -> list[str]:
    """A sentence for each cell with runs that never leave a wrong arm, the worst first."""
    found: list[tuple[float, str]] = []
    several = len({outcome.cell.problem for outcome in results.outcomes}) > 1
    for one in at_last_horizon(singles(results)):
        outcome = one.outcomes[0]
        stuck = int(np.count_nonzero(stuck_runs(outcome.checkpoints, outcome.regret)))
        if stuck:
            found.append((stuck / len(outcome.regret), stuck_sentence(one, stuck, several)))
    found.sort(key=lambda item: -item[0])
    more = len(found) - STUCK
    said = [words for _, words in found[:STUCK]]
    return [*said, f"And {more:,} more cells have such runs."] if more > 0 else said


def stuck_sentence(one: Series, stuck: int, several: bool) -> str:
    final = one.outcomes[0].regret[:, -1]
    mean, median = numeral(float(final.mean())), numeral(float(np.median(final)))
    who = f"{one.full_name} ({one.title(several)}): mean {mean}, median {median}"
    runs = f"{stuck:,} of {len(final):,} runs" if len(final) > 1 else "the run"
    leave = "leaves" if stuck == 1 or len(final) == 1 else "leave"
    return f"{who}: {runs} never {leave} a wrong arm."
