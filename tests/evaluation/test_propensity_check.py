"""The check of logged propensities: right ones pass, wrong ones do not."""

import math

import numpy as np
import pytest
from scipy import stats

from ensample.evaluation.propensity_check import (
    HEIGHTS,
    RATES,
    PropensityCheck,
    bounds_of,
    by_height,
    log_sums,
)
from evidence import FALSE_ALARM, holds
from naive import propensity_check as naive

NAMES = ("a", "b", "c")


def drawn(rng: np.random.Generator, rows: int, arms: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Propensities as a learning policy with a floor has them, and actions drawn from them."""
    p = 0.9 * rng.dirichlet(np.full(arms, 0.4), rows) + 0.1 / arms
    return p, (rng.random(rows)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(max=arms - 1)


def test_right_propensities_pass_however_often_one_looks() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        check = PropensityCheck(FALSE_ALARM)
        p, chosen = drawn(rng, 1_500)
        for start in range(0, 1_500, 10):
            check.add(NAMES, p[start : start + 10], chosen[start : start + 10])
        assert both(p, chosen) == (True, True)
        assert check.holds and all(abs(row.difference) < row.bound for row in check.standings())


def test_alarms_of_right_propensities_are_no_more_frequent_than_stated() -> None:
    rng, alarm, runs = np.random.default_rng(2), 0.2, 200
    alarms = 0
    for _ in range(runs):
        check = PropensityCheck(alarm)
        p, chosen = drawn(rng, 300)
        for start in range(0, 300, 5):
            check.add(NAMES, p[start : start + 5], chosen[start : start + 5])
        alarms += not check.holds
    assert holds(stats.binomtest(alarms, runs, alarm, alternative="greater").pvalue)


def both(p: np.ndarray, chosen: np.ndarray) -> tuple[bool, bool]:
    """Whether propensities pass by action, and by height."""
    actions, heights = PropensityCheck(FALSE_ALARM), PropensityCheck(FALSE_ALARM)
    actions.add(NAMES, p, chosen)
    heights.add([str(place) for place in range(HEIGHTS.size + 1)], *by_height(p, chosen))
    return actions.holds, heights.holds


def test_wrong_propensities_do_not() -> None:
    p, chosen = drawn(np.random.default_rng(3), 6_000)
    assert both(p, chosen) == (True, True)
    without_floor = (p - 0.1 / 3) / 0.9
    assert both(without_floor, chosen) == (True, False), (
        "which evens out over an action's decisions"
    )
    assert both(p[:, [1, 0, 2]], chosen) == (True, False)
    assert both(np.roll(p, 1, axis=0), chosen) == (True, False), "those of the decision before"
    assert both(p, np.where(np.arange(6_000) % 10 == 0, 2, chosen))[0] is False, (
        "one in ten is not theirs"
    )
    assert both(np.full_like(p, 1 / 3), np.where(chosen == 1, 0, chosen)) == (False, True), (
        "all of one height"
    )


def test_it_is_the_average_of_the_supermartingales() -> None:
    """Beside its slow twin: looked at after each row, with actions that come and go."""
    rng = np.random.default_rng(4)
    check, rows = PropensityCheck(0.05), []
    for number in range(120):
        names = NAMES if number < 60 else ("b", "c", "d")
        p = rng.dirichlet([1.0, 2.0, 3.0])
        place = 0 if number > 45 else int(np.searchsorted(np.cumsum(p), rng.random()))
        check.add(names, p[None], np.array([place]))
        rows.append((list(names), p.tolist(), names[place]))
    largest = naive.largest_averages(rows)
    for place, row in enumerate(check.standings(), 1):
        needed = 2.0 / 0.05 * place * (place + 1)
        assert (row.passed is not None) == (largest[row.name] > needed)
        assert row.chosen == sum(chosen == row.name for _, _, chosen in rows)
        expected = sum(p[offer.index(row.name)] for offer, p, _ in rows if row.name in offer)
        assert row.expected == pytest.approx(expected) and row.difference == pytest.approx(
            row.chosen - expected
        )
    assert {row.name for row in check.standings() if row.passed} not in (
        set(),
        {"a", "b", "c", "d"},
    )


def test_bounds_are_where_the_average_passes() -> None:
    variance, needed = (
        np.array([0.0, 0.3, 20.0, 1e6]),
        np.log(RATES.size / np.array([0.1, 0.01, 1e-3, 1e-7])),
    )
    bounds = bounds_of(variance, needed)
    assert log_sums(bounds, variance) == pytest.approx(needed)
    assert bounds[-1] < 1.3 * math.sqrt(2.0 * 1e6 * math.log(1e7)), (
        "not far above what one look would need"
    )


def test_what_cannot_be_is_counted() -> None:
    check = PropensityCheck()
    check.add(
        ("a", "b"),
        np.array([[1.0, 0.0], [0.6, 0.6], [1.5, -0.5], [0.5, 0.5]]),
        np.array([1, 0, 0, 0]),
    )
    assert check.impossible == 3 and not check.holds and check.rows == 4
