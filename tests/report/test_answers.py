"""The answer first: who is best, what survives, and which runs are stuck."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample.lab.analysis import stuck_runs
from ensample.lab.cell import Cell
from ensample.lab.results import CellOutcome
from ensample.report.study.answers import (
    ProblemAnswer,
    answer_of,
    answer_table,
    answer_words,
    answers,
    is_surely_worse,
    stuck_words,
    surely_words,
)
from ensample.report.study.series import Series
from ensample.statistics import student_quantile
from evidence import FALSE_ALARM

ROUNDS = list(range(10, 1001, 10))


def outcome(regret: np.ndarray, checkpoints: list[int] | None = None) -> CellOutcome:
    nobody: Any = None
    return CellOutcome(nobody, "lazy", checkpoints or ROUNDS, regret, None, 1e-6)


def played(arms: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Regret at ROUNDS of runs that play these arms: [runs, T] to [runs, C]."""
    return np.cumsum(gaps[arms], axis=1)[:, np.array(ROUNDS) - 1]


def test_runs_that_play_one_wrong_arm_to_the_end_are_stuck() -> None:
    """Gaps of 0, 0.3 and 1: runs that learned, that are stuck, that got away late, that explore,
    and that alternate."""
    gaps, rng = np.array([0.0, 0.3, 1.0]), np.random.default_rng(0)
    arms = np.zeros((6, 1000), int)
    arms[1] = 1
    arms[2, :] = np.where(np.arange(1000) < 400, rng.integers(0, 3, 1000), 2)
    arms[3, :900] = 1
    arms[4] = np.where(rng.random(1000) < 0.02, 0, 1)
    arms[5] = np.where(np.arange(1000) % 2, 1, 2)
    found = stuck_runs(ROUNDS, played(arms, gaps))
    assert found.tolist() == [False, True, True, False, False, True], (
        "alternating loses the same in every stretch"
    )
    assert stuck_runs(ROUNDS[-4:], played(arms, gaps)[:, -4:]).sum() == 0, (
        "too few stretches to tell"
    )


def test_mean_and_median_beside_the_stuck_runs(
    studied: dict[str, es.Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    """96 of 100 runs end at 20, four at 20,290 after losing 20.29 a round: mean 831, median 20."""
    results = studied["one"]
    cell: Cell = results.study.cells[0]
    regret = np.tile(20.0 * np.minimum(np.array(ROUNDS) / 100.0, 1.0), (100, 1))
    regret[:4] = 20.29 * np.array(ROUNDS)
    made = CellOutcome(cell, "lazy", ROUNDS, regret, None, 1e-6)
    monkeypatch.setattr(results, "outcomes", [made])
    (said,) = stuck_words(results)
    assert said.endswith(
        "mean 831, median 20: 4 of 100 runs never leave a wrong arm."
    ) and said.startswith("Thompson (")
    monkeypatch.setattr(results, "outcomes", [made._replace(regret=regret[4:])])
    assert stuck_words(results) == []


def test_a_difference_survives_all_comparisons_of_its_problem() -> None:
    """Against t for the pairs by hand; what is sure alone need not be among twenty."""
    rng = np.random.default_rng(1)
    best, one = rng.normal(10.0, 1.0, (12, 1)), np.zeros((12, 1))
    one[:, 0] = best[:, 0] + rng.normal(0.9, 1.0, 12)
    pairs = (one - best)[:, 0]
    t = pairs.mean() / (pairs.std(ddof=1) / np.sqrt(12))
    for comparisons in (1, 2, 5, 20, 1000):
        assert is_surely_worse(outcome(one, [1]), outcome(best, [1]), comparisons) == (
            t > student_quantile(0.05 / comparisons / 2.0, 11)
        )
    assert is_surely_worse(outcome(one, [1]), outcome(best, [1]), 1) and not is_surely_worse(
        outcome(one, [1]), outcome(best, [1]), 1000
    )
    assert not is_surely_worse(outcome(one[:1], [1]), outcome(best[:1], [1]), 1), (
        "one run says nothing"
    )


def test_answers_name_the_lowest_mean_and_everybody_once(studied: dict[str, es.Results]) -> None:
    results = studied["grid"]
    found = answers(results)
    assert len(found) == 3, "a problem for each dim, at the longest horizon"
    rows = results.cells.to_dicts()
    for one, dim in zip(found, (2, 3, 4), strict=True):
        means = {
            row["policy"]: row["mean"]
            for row in rows
            if row["dim"] == dim and row["horizon"] == 160
        }
        assert one.best == min(means, key=lambda name: means[name]) and one.mean == pytest.approx(
            min(means.values())
        )
        assert sorted([one.best, *one.beaten, *one.close]) == sorted(means)
    table = answer_table(found)
    assert table is not None and table.size == 3
    assert answers(studied["one"]) == []


def test_of_policies_that_are_equal_none_is_surely_worse() -> None:
    """In 95% of the studies at least, although the best is the data's own choice: all pairs count,
    not only those with it."""
    rng, studies, sure, control = np.random.default_rng(2), 1_500, 0, 0
    for _ in range(studies):
        made = [outcome(final, [1]) for final in rng.normal(10.0, 1.0, (10, 100, 1))]
        group = [Series(f"{number}", "p", {}, {}, [one]) for number, one in enumerate(made)]
        found = answer_of(group, "p")
        best = made[int(found.best)]
        sure += bool(found.beaten)
        control += any(is_surely_worse(one, best, 9) for one in made if one is not best)
    most = stats.binom.isf(FALSE_ALARM, studies, 0.05)
    assert sure <= most < control


def test_the_answer_says_how_many_comparisons_it_is_sure_of() -> None:
    """Names with commas in them are told apart; of ten policies there are 45 pairs."""
    names = [f"ES, size = {size}" for size in (3, 10)]
    ten = ProblemAnswer("p", "a", 3.0, names, ["b"] * 7, 9)
    assert "Surely worse: ES, size = 3; ES, size = 10. Not" in answer_words([ten])[0]
    assert "all 45 pairs of 10 policies, and one alone has to have p < 0.00111." in surely_words(
        [ten]
    )
    two = ten._replace(beaten=["b"], close=[])
    assert "all up to 45 pairs of 10 policies" in surely_words([two, ten])
    assert "all 1 pair of 2 policies, and one alone has to have p < 0.05." in surely_words([two])
