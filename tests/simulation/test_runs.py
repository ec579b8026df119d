"""Runs, and two simulations compared run by run."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ensample as es

HORIZON, RUNS = 100, 12
SPHERE = es.problem("sphere", dim=3, arms=5)


def played(recipe: es.Recipe, **changed: Any) -> es.Runs:
    given = {"problem": SPHERE, "horizon": HORIZON, "runs": RUNS, "seed": 1, "checkpoints": 10}
    return es.simulate(recipe, **(given | changed))


@pytest.fixture(scope="module")
def ours() -> es.Runs:
    return played(es.EnsembleSampling(20))


@pytest.fixture(scope="module")
def theirs() -> es.Runs:
    return played(es.LinUCB())


def test_runs_are_summarised(ours: es.Runs) -> None:
    summary, final = ours.summary(), ours.regret[:, -1]
    assert summary["mean"] == pytest.approx(final.mean()) == pytest.approx(ours.mean[-1])
    assert summary["standard_error"] == pytest.approx(stats.sem(final))
    assert summary["p90"] == pytest.approx(ours.quantile(0.9)[-1])
    assert ours.pulls is not None and ours.pulls.sum(axis=1).tolist() == [HORIZON] * RUNS
    frame = ours.to_frame()
    assert frame.columns == ["run", "round", "regret"] and frame.height == RUNS * 10
    assert frame["regret"].to_numpy() == pytest.approx(ours.regret.ravel())
    assert np.isnan(played(es.Greedy(), runs=1).standard_error).all() and "12 runs" in repr(ours)
    slow = replace(ours, seconds=np.array([9.0] + [0.5] * 11))  # the first run had to wait
    assert slow.seconds_per_round == 0.005
    assert slow.summary()["rounds_per_second"] == pytest.approx(200)


def test_difference_is_taken_run_by_run(ours: es.Runs, theirs: es.Runs) -> None:
    found, back = ours.difference(theirs), theirs.difference(ours)
    assert (found.recipe, found.baseline, found.horizon) == (ours.recipe, theirs.recipe, HORIZON)
    np.testing.assert_array_equal(found.regret, ours.regret - theirs.regret)
    np.testing.assert_array_equal(found.checkpoints, ours.checkpoints)
    np.testing.assert_allclose(found.mean, ours.mean - theirs.mean)
    assert (back.better, back.worse) == (found.worse, found.better)
    assert found.better + found.worse <= RUNS
    assert found.summary()["better"] == found.better and found.summary()["mean"] == found.mean[-1]


def test_interval_and_p_value_are_students(ours: es.Runs, theirs: es.Runs) -> None:
    found = ours.difference(theirs)
    for place in (3, -1):
        test = stats.ttest_1samp(found.regret[:, place], 0.0)
        assert found.standard_error[place] == pytest.approx(stats.sem(found.regret[:, place]))
        for alarm in (0.05, 0.3):
            low, high = found.interval(alarm)
            expected = tuple(test.confidence_interval(1 - alarm))
            assert (low[place], high[place]) == pytest.approx(expected)
    assert found.p_value() == pytest.approx(test.pvalue)


def test_runs_do_not_differ_from_themselves(ours: es.Runs) -> None:
    found = ours.difference(ours)
    assert not found.regret.any() and (found.better, found.worse, found.p_value()) == (0, 0, 1.0)
    shifted = ours.difference(replace(ours, regret=ours.regret + 1.0))  # without any spread
    assert (shifted.better, shifted.p_value()) == (RUNS, pytest.approx(0.0, abs=1e-100))


def test_single_run_has_no_interval(ours: es.Runs) -> None:
    one, other = replace(ours, regret=ours.regret[:1]), replace(ours, regret=ours.regret[1:2])
    found = one.difference(other)
    assert math.isnan(found.p_value()) and all(np.isnan(end).all() for end in found.interval())
    assert "better in" in repr(found) and "svg" in found._repr_html_()


@dataclass(frozen=True)
class WithArrays(es.Family):
    """A family of somebody's own, whose fields cannot be compared by `==`."""

    theta: Any = field(default_factory=lambda: np.array([0.0, 1.0]))

    def draw(self, rng: np.random.Generator) -> es.Problem:
        return es.LinearProblem(es.FiniteArms(np.eye(2)), self.theta, 0.1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 2}, "seed = 1, as these runs have"),
        ({"cell": 3}, "cell = 0, as these runs have"),
        ({"horizon": 50}, "horizon = 100, as these runs have"),
        ({"checkpoints": 5}, "checkpoints = "),
        ({"runs": 3}, "12, as many as these are"),
        ({"problem": es.problem("sphere", dim=3, arms=6)}, "runs on the same problem"),
        ({"problem": WithArrays()}, "runs on the same problem"),
    ],
)
def test_runs_that_are_not_paired_are_refused(
    changed: dict[str, Any], said: str, ours: es.Runs
) -> None:
    with pytest.raises(es.InvalidArgument, match=r"^baseline = ") as caught:
        ours.difference(played(es.Greedy(), **changed))
    assert said in str(caught.value)


def test_problems_are_equal_or_one_object() -> None:
    arrays = WithArrays()
    equal = es.problem("two-arms"), es.problem("two-arms")
    for one, other, paired in [
        (*equal, True),
        (arrays, arrays, True),
        (WithArrays(), WithArrays(), False),
    ]:
        first, second = (
            played(es.Greedy(), problem=given, horizon=2, runs=2) for given in (one, other)
        )
        if paired:
            assert not first.difference(second).regret.any()
        else:
            with pytest.raises(es.InvalidArgument, match="the same problem"):
                first.difference(second)


def test_bad_arguments_of_a_difference_are_named(ours: es.Runs) -> None:
    with pytest.raises(es.WrongType, match=r"^baseline = 3"):
        ours.difference(3)  # type: ignore[arg-type]
    for alarm in (0.0, 1.5, math.nan):
        with pytest.raises(es.InvalidArgument, match=r"^alarm = "):
            ours.difference(ours).interval(alarm)
