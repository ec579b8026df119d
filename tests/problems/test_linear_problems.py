"""Linear and logistic problems: what they are refused for, and that rewards are what they say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import holds, pmf_p_value
from naive.generalized import sigmoid

TWO, BALL, CLICKS = es.FiniteArms(np.eye(2)), es.UnitBall(2), es.BernoulliNoise()


def linear(arms: Any = TWO, theta: Any = (1.0, 0.5), noise: Any = 0.1, **more: Any) -> Any:
    return es.LinearProblem(arms, theta, noise, **more)


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: es.problem("sphere", dim=0), "dim"),
    (lambda: es.problem("sphere", noise=-1), "noise"),
    (lambda: es.problem("kveton", dim=10, arms=5), "arms"),
    (lambda: es.problem("two-arms", noise=-1), "noise"),
    (lambda: es.problem("logistic", features="cube"), "features"),
    (lambda: es.problem("logistic", dim=0), "dim"),
    (lambda: es.problem("evill", variance="no"), "variance"),
    (lambda: es.problem("clicks", rate=1.0), "rate"),
    (lambda: es.problem("clicks", dim=1), "dim"),
    (lambda: linear(theta=[1.0]), "theta"),
    (lambda: linear(theta=[1.0, np.nan]), "theta"),
    (lambda: linear(theta=[2.0, 0.5], noise=CLICKS), "theta"),
    (lambda: linear(BALL, [0.5, 0.0], CLICKS), "theta"),
    (lambda: linear(es.FiniteArms([[0.5]]), [1.0], CLICKS, warmup=[[5.0]]), "theta"),
    (lambda: linear(noise="loud"), "noise"),
    (lambda: linear(noise=es.BernoulliNoise), "noise"),
    (lambda: linear(es.ChangingArms(2)), "arms"),
    (lambda: linear("arms"), "arms"),
    (lambda: linear(opening=[2]), "opening"),
    (lambda: linear(BALL, [0.5, 0.0], opening=[0]), "opening"),
    (lambda: linear(warmup=[[1.0]]), "warmup"),
    (lambda: linear(warmup=[2]), "warmup"),
    (lambda: linear(warmup=[0.5]), "warmup"),
    (lambda: linear(warmup=[3], others=[[1.0, 1.0]]), "warmup"),
    (lambda: linear(BALL, [0.5, 0.0], warmup=[0]), "warmup"),
    (lambda: linear(warmup=[2], others=[[1.0]]), "others"),
    (lambda: es.HeteroscedasticNoise(0.5, 0.1), "high"),
    (lambda: es.ContextualLinearProblem(3, [0.5, 0.0], CLICKS), "theta"),
    (lambda: es.ContextualLinearProblem(0, [1.0], 0.1), "count"),
    (lambda: es.ContextualLogisticProblem(3, [1.0]), "theta"),
]


@pytest.mark.parametrize(("make", "argument"), BAD)
def test_bad_problem_is_named(make: Callable[[], object], argument: str) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        make()
    assert caught.value.argument == argument


def test_error_of_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(es.InvalidArgument, match=r"one of .*sphere.*did you mean 'sphere'\?"):
        es.problem("spere")
    with pytest.raises(es.InvalidArgument, match=r"^arm = 3: expected .*did you mean 'arms'"):
        es.problem("sphere", arm=3)
    with pytest.raises(es.InvalidArgument, match=r"^problem = 7"):
        es.problem(7)


NOISES = [es.GaussianNoise(0.3), es.RademacherNoise(0.3), CLICKS, es.HeteroscedasticNoise(0.1, 0.6)]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_noise_has_its_mean_and_spread(noise: es.Noise) -> None:
    problem, rng = linear(es.FiniteArms([[0.6], [0.2]]), [1.0], noise), np.random.default_rng(0)
    for x in problem.arms.features:
        rewards = np.array([problem.reward(x, rng) for _ in range(20_000)])
        spread = float(noise.spreads(x)[0])
        assert rewards.mean() == pytest.approx(x[0], abs=6 * spread / 20_000**0.5)
        assert rewards.std() == pytest.approx(spread, rel=0.05)
        assert spread <= noise.subgaussian


@pytest.mark.parametrize(
    ("name", "options"),
    [("logistic", {"dim": 4}), ("logistic", {"features": "sphere"}), ("evill", {}), ("clicks", {})],
)
def test_rewards_of_logistic_problems_are_clicks(name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    problem = es.problem(name, **options).draw(rng)
    offered = problem.offer(rng)
    rows = problem.arms.features if offered is None else offered
    means = sigmoid(rows @ problem.theta)
    assert problem.best_mean(offered) == pytest.approx(means.max())
    drawn = np.array([problem.reward(rows[means.argmax()], rng) for _ in range(500)])
    chances = np.array([1 - means.max(), means.max()])
    assert holds(pmf_p_value(drawn, np.array([0.0, 1.0]), chances))


def test_features_of_logistic_problems_are_uniform() -> None:
    features = es.problem("logistic", dim=3).draw(np.random.default_rng(0)).arms.features
    assert holds(stats.kstest(features.ravel(), stats.uniform(-1, 2).cdf).pvalue)


@pytest.mark.parametrize(("variance", "top"), [("high", 1.5), ("low", 4.0)])
def test_instances_of_evill(variance: str, top: float) -> None:
    problem = es.problem("evill", variance=variance).draw(np.random.default_rng(0))
    values = problem.arms.features @ problem.theta
    assert len(values) == 120
    assert (values.max(), values.min()) == (pytest.approx(top), pytest.approx(0.1))
    steps = np.diff(1 / np.sqrt(problem.theta))  # theta_i = (c1 / (c2 + i))^2
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert len(problem.opening) == 120 and (problem.arms.features.sum(axis=1) == 3).all()


@pytest.mark.parametrize(
    "problem",
    [es.LogisticProblem(TWO, [1.1, 0.6]), es.ContextualLogisticProblem(3, [1.0, 0.5, -2.0])],
    ids=["standing", "contextual"],
)
def test_problem_can_be_written_down_again(problem: es.Problem) -> None:
    study = es.Study(name="s", horizon=5, problem=problem, policy="Greedy")
    again: Any = es.Study(**study.describe()).cells[0].family
    assert type(again) is type(problem) and np.array_equal(again.theta, problem.theta)
