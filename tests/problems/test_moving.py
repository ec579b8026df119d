"""Problems whose truth moves."""

from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from ensample.lab.analysis import guarantee_of
from ensample.problems.problem import FiniteProblem


def drawn(name: str, **options) -> es.MovingProblem:
    return es.problem(name, **options).draw(np.random.default_rng(5))


def test_drift_walks_on_the_sphere() -> None:
    problem = drawn("drift", dim=50, step=0.02)
    path = problem.path(2000)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1.0, rtol=1e-12)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert steps.mean() == pytest.approx(0.02, rel=0.05) and np.abs(path[0] @ path[-1]) < 0.9


def test_switch_is_another_problem_every_so_many_rounds() -> None:
    problem = drawn("switch", dim=5, every=40)
    thetas = np.array([problem.at(t).theta for t in range(120)])
    assert len(np.unique(thetas, axis=0)) == 3 and (thetas[:40] == problem.theta).all()
    assert (thetas[40] == thetas[79]).all() and np.linalg.norm(thetas[80]) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["drift", "switch"])
def test_the_path_does_not_depend_on_who_asks(name: str) -> None:
    one, other = drawn(name), drawn(name)
    late = one.at(3000).theta
    for t in (0, 700, 1500, 3000):
        np.testing.assert_array_equal(other.at(t).theta, one.at(t).theta)
    np.testing.assert_array_equal(other.at(3000).theta, late)
    again = es.MovingProblem(**one.parameters)
    np.testing.assert_array_equal(again.at(2500).theta, one.at(2500).theta)


def test_a_moment_is_a_problem_of_its_own() -> None:
    problem = drawn("drift", dim=3, arms=6)
    moment, later = problem.at(7), problem.at(8)
    same = es.LinearProblem(problem.arms, problem.path(8)[7], problem.noise)
    np.testing.assert_array_equal(moment.theta, same.theta)
    assert moment.best_mean() == same.best_mean() != later.best_mean()
    moment.theta[:] = 0.0
    np.testing.assert_array_equal(problem.at(7).theta, same.theta)


def test_a_moment_whose_means_cannot_have_the_noise_is_refused() -> None:
    problem = es.MovingProblem(
        es.FiniteArms([[1.0], [0.5]]), [0.8], es.BernoulliNoise(), step=None, seed=0
    )
    signs = np.sign(problem.path(50)[:, 0])
    assert {*signs} == {1.0, -1.0}
    for t, sign in enumerate(signs):
        if sign > 0:
            assert problem.at(t).best_mean() == pytest.approx(0.8)
        else:
            with pytest.raises(es.InvalidArgument):
                problem.at(t)


def test_regret_is_against_the_best_arm_of_the_moment() -> None:
    problem = drawn("switch", dim=3, arms=6, every=10)
    runs = es.simulate(
        es.Greedy(regularization=1.0), problem, 40, evaluation="live", checkpoints=40
    )
    played = np.diff(runs.regret[0], prepend=0.0)
    gaps = [
        problem.at(t).best_mean() - problem.arms.features @ problem.at(t).theta for t in range(40)
    ]
    assert all(np.abs(gap - loss).min() < 1e-12 for gap, loss in zip(gaps, played, strict=True))


def test_kernels_see_the_same_path() -> None:
    problem = drawn("drift", dim=3, arms=6)
    arrays = problem.as_arrays(100)
    assert isinstance(arrays, FiniteProblem)
    assert arrays.mean_path.shape == (100, 6)
    assert arrays.period == 1
    means = [problem.arms.features @ problem.at(t).theta for t in range(100)]
    np.testing.assert_allclose(arrays.mean_path, means, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(arrays.best_means, arrays.mean_path.max(axis=1))


def test_what_kernels_cannot_lay_out_is_simulated_live() -> None:
    arms = es.FiniteArms(np.eye(2))
    loud = es.MovingProblem(arms, [0.6, 0.8], es.HeteroscedasticNoise(0.1, 0.5), step=0.1)
    assert loud.as_arrays(10) is None
    assert es.MovingProblem(arms, [0.6, 0.8], 0.1, step=0.1).as_arrays(10**8) is None
    assert es.MovingProblem(es.UnitBall(2), [0.6, 0.8], 0.1, step=0.1).as_arrays(10) is None
    with pytest.warns(
        es.LiveSimulationWarning, match="MovingProblem with FiniteArms and HeteroscedasticNoise"
    ):
        assert es.simulate(es.Greedy(), loud, 5).evaluation == "live"


def test_bad_fields_are_named() -> None:
    for name, option in (
        ("drift", {"step": -1.0}),
        ("switch", {"every": 0}),
        ("drift", {"arms": 0}),
        ("switch", {"noise": -1}),
    ):
        with pytest.raises(es.InvalidArgument, match=f"^{next(iter(option))} = "):
            es.problem(name, **option)
    with pytest.raises(es.InvalidArgument, match="a fixed set of arms"):
        es.MovingProblem(es.ChangingArms(2), [0.6, 0.8], 0.1, step=0.1)


class Seasons(es.LinearProblem):
    """A moving truth of somebody's own."""

    def at(self, t: int) -> es.Problem:
        return es.LinearProblem(self.arms, self.theta[:: -1 if t // 10 % 2 else 1], self.noise)


def test_no_theorem_is_said_to_hold() -> None:
    arms = es.FiniteArms(np.eye(2))
    own, still = Seasons(arms, [0.6, 0.8], 0.1), es.LinearProblem(arms, [0.6, 0.8], 0.1)
    policy = {"recipe": "LinUCB", "theorem": True}
    study = es.Study(
        name="moving",
        horizon=50,
        runs=1,
        policy=policy,
        problem=[{"family": "drift"}, {"family": "sphere"}],
    )
    cells = [
        *study.cells,
        *(
            replace(study.cells[1], family=problem, recipe=theorem(problem))
            for problem in (own, still)
        ),
    ]
    assert [guarantee_of(cell) is None for cell in cells] == [True, False, True, False]


def theorem(problem: es.Problem) -> es.Recipe:
    return es.LinUCB.from_theorem(es.setting_of(problem, horizon=50))


@pytest.mark.parametrize(
    "problem", [es.problem("drift"), Seasons(es.FiniteArms(np.eye(2)), [0.6, 0.8], 0.1)]
)
def test_the_general_theorem_is_not_measured_where_the_truth_moves(problem: es.Problem) -> None:
    with pytest.raises(es.InvalidArgument, match=r"^problem = .*one theta for all rounds"):
        es.theory.measure(es.LinUCB(), problem, horizon=10, runs=1)


def test_means_are_looked_at_by_whoever_looks_at_means() -> None:
    """The worst arm is left alone only where arms are listed and the noise takes every mean."""
    arms = es.FiniteArms([[1.0, 0.0], [0.0, 1.0]])
    noise, seen = es.GaussianNoise(0.1), []
    object.__setattr__(noise, "check", lambda means: seen.append(sorted(means)))
    es.LinearProblem(arms, [0.3, -0.4], noise)
    assert seen == [[-0.4, 0.3]]
    with pytest.raises(es.InvalidArgument, match="means in"):
        es.LinearProblem(arms, [0.3, -0.4], es.BernoulliNoise())

    def best(theta: np.ndarray) -> np.ndarray:
        return np.full(2, np.nan) if theta.sum() < 0.0 else np.array([1.0, 0.0])

    with pytest.raises(es.InvalidArgument):
        es.LinearProblem(es.OracleArms(2, best), [0.3, 0.4], 0.1)
