"""The lazy kernel of the stream fit has the law of the live policy, and logistic problems are what they say."""

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import holds, pmf_p_value
from naive.generalized import sigmoid
from simulation.test_lazy_law import outcomes, p_value

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])
THETA = np.array([1.1, 0.6])
PROBLEM = es.LogisticProblem(
    es.FiniteArms(X), THETA, warmup=[0, 4, 4], others=[[0.5, 0.5]], opening=[3]
)
MOVING = {
    "clicks": es.problem("clicks", dim=3, arms=3, rate=0.2),
    "ball": es.LogisticProblem(es.UnitBall(2), THETA),
}


def recipe(size: int, scale: float = 0.75, **more) -> es.EnsembleSampling:
    return es.EnsembleSampling(size, scale, model=es.Logistic(), **more)


@pytest.mark.parametrize(("size", "lam"), [(2, 1.0), (8, "auto"), (8, 1e-9), (400, 0.3)])
def test_on_finite_arms(size: int, lam: float) -> None:
    one = outcomes(recipe(size, regularization=lam), PROBLEM, 60, "lazy", 1, 3000)
    other = outcomes(recipe(size, regularization=lam), PROBLEM, 60, "live", 2, 300)
    assert holds(p_value(one, other))


@pytest.mark.parametrize("place", MOVING)
@pytest.mark.parametrize("size", [2, 300])
def test_on_moving_arms(place: str, size: int) -> None:
    one = outcomes(recipe(size), MOVING[place], 60, "lazy", 1, 3000)
    assert holds(p_value(one, outcomes(recipe(size), MOVING[place], 60, "live", 2, 300)))


@pytest.mark.parametrize("problem", [PROBLEM, MOVING["clicks"]], ids=["finite", "clicks"])
def test_a_wrong_scale_is_caught(problem) -> None:
    """Negative control."""
    right, wrong = (
        outcomes(recipe(8), problem, 60, "live", 2, 300),
        outcomes(recipe(8, 2.5), problem, 60, "lazy", 1, 3000),
    )
    assert not holds(p_value(wrong, right))


def test_a_member_that_comes_late_has_the_law_of_one_that_was_there() -> None:
    """One member a round, so that all are new and start from bases that move."""
    long = es.EnsembleSampling(10**6, model=es.Logistic(), fresh=False)
    one = outcomes(long, PROBLEM, 400, "lazy", 1, 2000)
    other = outcomes(
        es.EnsembleSampling(400, model=es.Logistic(), member=es.RoundRobin()),
        PROBLEM,
        400,
        "lazy",
        2,
        2000,
    )
    assert holds(p_value(one, other))


def test_what_has_no_lazy_law_is_simulated_live() -> None:
    for other, reason in (
        (es.EnsembleSampling(4, model=es.Logistic(), half_life=50), "half_life=50"),
        (es.EnsembleSampling(4, model=es.Logistic(), reward=es.Rademacher()), "default laws"),
        (es.EnsembleSampling(4, model=es.Logistic(), member=es.OptimisticMember()), "every member"),
    ):
        with pytest.warns(es.LiveSimulationWarning, match=reason):
            assert es.simulate(other, PROBLEM, 5).evaluation == "live"


def test_logistic_problems_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    uniform, sphere = (
        es.problem("logistic", dim=4),
        es.problem("logistic", dim=4, features="sphere"),
    )
    for family in (uniform, sphere, es.problem("evill"), es.problem("clicks")):
        problem = family.draw(rng)
        offered = problem.offer(rng)
        rows = problem.arms.features if offered is None else offered
        means = sigmoid(rows @ problem.theta)
        assert problem.best_mean(offered) == pytest.approx(means.max())
        x = rows[means.argmax()]
        drawn = np.array([problem.reward(x, rng) for _ in range(500)])
        assert holds(
            pmf_p_value(drawn, np.array([0.0, 1.0]), np.array([1 - means.max(), means.max()]))
        )
    assert (
        stats.kstest(
            es.problem("logistic", dim=3).draw(rng).arms.features.ravel(), stats.uniform(-1, 2).cdf
        ).pvalue
        > 1e-7
    )


@pytest.mark.parametrize(("variance", "top"), [("high", 1.5), ("low", 4.0)])
def test_the_instances_of_evill(variance: str, top: float) -> None:
    problem = es.problem("evill", variance=variance).draw(np.random.default_rng(0))
    values = problem.arms.features @ problem.theta
    assert (
        len(values) == 120
        and values.max() == pytest.approx(top)
        and values.min() == pytest.approx(0.1)
    )
    roots = 1 / np.sqrt(problem.theta)
    np.testing.assert_allclose(np.diff(roots), np.diff(roots)[0], rtol=1e-6)  # (c1 / (c2 + i))^2
    assert len(problem.opening) == 120 and (problem.arms.features.sum(axis=1) == 3).all()


def test_problems_can_be_written_down_again() -> None:
    for problem in (PROBLEM, es.ContextualLogisticProblem(3, [1.0, 0.5, -2.0])):
        study = es.Study(name="s", horizon=5, problem=problem, policy="Greedy")
        again = es.Study(**study.describe()).cells[0].family
        assert type(again) is type(problem) and np.array_equal(again.theta, problem.theta)
    for wrong in ({"features": "cube"}, {"dim": 0}):
        with pytest.raises(es.InvalidArgument):
            es.problem("logistic", **wrong)
    for name, wrong in (
        ("evill", {"variance": "no"}),
        ("clicks", {"rate": 1.0}),
        ("clicks", {"dim": 1}),
    ):
        with pytest.raises(es.InvalidArgument):
            es.problem(name, **wrong)
    with pytest.raises(es.InvalidArgument, match="at least two"):
        es.ContextualLogisticProblem(3, [1.0])
