"""Two simulations compared run by run: only where they met the same problems and noise."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ensample as es

HORIZON, RUNS = 100, 12


@pytest.fixture(scope="module")
def ours() -> es.Runs:
    return played(es.EnsembleSampling(20))


@pytest.fixture(scope="module")
def theirs() -> es.Runs:
    return played(es.LinUCB())


def played(recipe: es.Recipe, **changed: Any) -> es.Runs:
    given = {
        "problem": es.problem("sphere", dim=3, arms=5),
        "horizon": HORIZON,
        "runs": RUNS,
        "seed": 1,
        "checkpoints": 10,
    }
    return es.simulate(recipe, **(given | changed))


def test_a_difference_is_taken_run_by_run(ours: es.Runs, theirs: es.Runs) -> None:
    found = ours.difference(theirs)
    assert (found.recipe, found.baseline, found.horizon) == (ours.recipe, theirs.recipe, HORIZON)
    np.testing.assert_array_equal(found.regret, ours.regret - theirs.regret)
    np.testing.assert_array_equal(found.checkpoints, ours.checkpoints)
    np.testing.assert_allclose(found.mean, ours.mean - theirs.mean)
    back = theirs.difference(ours)
    assert (back.better, back.worse) == (
        found.worse,
        found.better,
    ) and found.better + found.worse <= RUNS
    assert found.summary()["better"] == found.better and found.summary()["mean"] == found.mean[-1]


def test_interval_and_p_value_are_student_s(ours: es.Runs, theirs: es.Runs) -> None:
    found = ours.difference(theirs)
    for place in (3, -1):
        test = stats.ttest_1samp(found.regret[:, place], 0.0)
        assert found.standard_error[place] == pytest.approx(stats.sem(found.regret[:, place]))
        for alarm in (0.05, 0.3):
            low, high = found.interval(alarm)
            assert (low[place], high[place]) == pytest.approx(
                tuple(test.confidence_interval(1 - alarm))
            )
    assert found.p_value() == pytest.approx(test.pvalue)


def test_runs_do_not_differ_from_themselves(ours: es.Runs) -> None:
    found = ours.difference(ours)
    assert not found.regret.any() and (found.better, found.worse, found.p_value()) == (0, 0, 1.0)
    shifted = ours.difference(replace(ours, regret=ours.regret + 1.0))
    assert (shifted.better, shifted.p_value()) == (RUNS, pytest.approx(0.0, abs=1e-100)), (
        "a difference without any spread"
    )


def test_a_single_run_has_no_interval(ours: es.Runs) -> None:
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
def test_what_is_not_paired_is_refused(changed: dict[str, Any], said: str, ours: es.Runs) -> None:
    with pytest.raises(es.InvalidArgument, match=r"^baseline = ") as caught:
        ours.difference(played(es.Greedy(), **changed))
    assert said in str(caught.value)


def test_problems_are_compared_or_the_very_same() -> None:
    for one, other, paired in [
        (es.problem("two-arms"), es.problem("two-arms"), True),
        (problem := WithArrays(), problem, True),
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


def test_bad_arguments_are_named(ours: es.Runs) -> None:
    with pytest.raises(es.WrongType, match=r"^baseline = 3"):
        ours.difference(3)  # type: ignore[arg-type]
    for alarm in (0.0, 1.5, math.nan):
        with pytest.raises(es.InvalidArgument, match=r"^alarm = "):
            ours.difference(ours).interval(alarm)
