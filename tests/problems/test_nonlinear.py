"""Problems that are not linear: the means of their references, and no theorem about them."""

import numpy as np
import pytest

import ensample as es
from ensample.problems.classification import blocks, chosen_block

FAMILIES = {
    "neural": es.problem("neural", dim=6, arms=9, hidden=4),
    "wheel": es.problem("wheel", delta=0.7),
    "wheel, blocks": es.problem("wheel", delta=0.7, blocks=True),
    "quadratic": es.problem("quadratic", dim=3, arms=4),
    "classification": es.problem(
        "classification", data=np.random.default_rng(1).random((12, 2)), y=list("abcabcabcabc")
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_means_best_means_and_rewards_agree(name: str) -> None:
    family, rng = FAMILIES[name], np.random.default_rng(0)
    problem = family.draw(rng)
    assert family.dim == problem.arms.dim and not problem.linear
    for t in range(5):
        now = problem.at(t)
        offered = now.offer(rng)
        rows = problem.arms.features if offered is None else offered
        means = [now.mean(x) for x in rows]
        assert rows.shape[1] == family.dim and now.best_mean(offered) == max(means)
        np.testing.assert_allclose(now.means(rows), means, rtol=1e-12)
        rewards = [now.reward(rows[0], rng) for _ in range(200)]
        spread = now.noise.size
        assert abs(np.mean(rewards) - means[0]) <= 6.0 * spread / 200**0.5
        assert np.std(rewards) <= 1.5 * spread + 1e-12


@pytest.mark.parametrize("name", FAMILIES)
def test_no_theorem_is_about_them(name: str) -> None:
    with pytest.raises(es.AssumptionError, match="linear in the features"):
        es.setting_of(FAMILIES[name], 100)
    with pytest.raises(es.StudyError, match="theorem"):
        policy = {"recipe": "EnsembleSampling", "theorem": True}
        es.Study(name="s", horizon=5, problem="quadratic", policy=policy).cells  # noqa: B018


def test_the_network_is_that_of_its_reference() -> None:
    problem = es.problem("neural").draw(np.random.default_rng(3))
    x = problem.arms.features[7]
    assert problem.arms.features.shape == (100, 100) and (problem.arms.features[:, -1] == 1.0).all()
    hidden = [max(u, 0.01 * u) for u in problem.inner @ x]
    assert problem.mean(x) == pytest.approx(problem.outer @ hidden) and problem.noise.size == 10.0
    assert problem.inner.shape == (50, 100) and abs(problem.inner.std() - 1.0) < 0.1


@pytest.mark.parametrize("wide", [False, True])
def test_the_wheel_pays_in_its_quarter_outside(wide: bool) -> None:
    problem = es.problem("wheel", delta=0.5, blocks=wide).draw(np.random.default_rng(0))

    def means(*context: float) -> list[float]:
        rows = (
            blocks(np.array(context), 5)
            if wide
            else np.hstack([np.tile(context, (5, 1)), np.eye(5)])
        )
        return problem.means(rows).tolist()

    assert means(0.3, 0.3) == means(-0.1, 0.2) == [1.2, 1, 1, 1, 1]
    assert means(0.5, 0.5) == [1.2, 50, 1, 1, 1] and means(0.5, -0.5) == [1.2, 1, 50, 1, 1]
    assert means(-0.5, 0.5) == [1.2, 1, 1, 50, 1] and means(-0.5, -0.5) == [1.2, 1, 1, 1, 50]
    rng = np.random.default_rng(1)
    inside = [problem.best_mean(problem.offer(rng)) == 1.2 for _ in range(2000)]
    assert abs(np.mean(inside) - 0.25) < 6 * (0.25 * 0.75 / 2000) ** 0.5, (
        "uniform on the disc: a quarter within radius 1/2"
    )


def test_blocks_and_back() -> None:
    rows = blocks(np.array([0.0, -2.0]), 3)
    chosen, contexts = chosen_block(rows, 3)
    assert chosen.tolist() == [0, 1, 2] and contexts.tolist() == [[0.0, -2.0]] * 3


def test_a_data_set_is_shown_row_by_row_in_an_order_of_its_own() -> None:
    X, labels = np.random.default_rng(0).random((7, 3)), [5, 5, 9, 9, 9, 7, 7]
    X[:, 1] = 0.0  # left out
    family = es.problem("classification", data=X, y=labels)
    one, other = (family.draw(np.random.default_rng(seed)) for seed in (0, 1))
    assert family.classes == [5, 7, 9] and one.arms.dim == family.dim == 3 * 3

    def shown(problem: es.Problem, t: int) -> tuple[list[float], int]:
        now = problem.at(t)
        offered = now.offer(np.random.default_rng(0))
        return offered[0, :2].tolist(), int(now.means(offered).argmax())

    rounds = [shown(one, t) for t in range(7)]
    truth = [
        (x[[0, 2]].tolist(), family.classes.index(label))
        for x, label in zip(X, labels, strict=True)
    ]
    assert sorted(rounds) == sorted(truth) and rounds != [shown(other, t) for t in range(7)]
    assert shown(one, 7) == shown(one, 0), "and again from the first"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": [[1.0], [2.0]], "y": [1]}, "a label for each of 2 rows"),
        ({"data": [[1.0], [2.0]], "y": [1, 1]}, "at least two classes"),
        ({"data": [1.0, 2.0], "y": [0, 1]}, "K x d"),
        ({"data": [[1.0], [2.0]], "y": 3}, "a label for each row"),
    ],
)
def test_bad_data_sets_are_refused(given: dict, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        es.problem("classification", **given)
    with pytest.raises(es.InvalidArgument, match="delta"):
        es.problem("wheel", delta=1.5)


@pytest.mark.filterwarnings("ignore::ensample.LiveSimulationWarning")
def test_policies_face_the_same_problems_and_noise() -> None:
    family = es.problem("wheel", delta=0.8)
    safe = [
        es.simulate(es.Greedy(1.0), family, 40, runs=3, seed=2, threads=threads)
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(safe[0].regret, safe[1].regret)
    networks = es.EnsembleSampling(3, model=es.Neural((4,), batch=8, memory=50))
    runs = [
        es.simulate(networks, family, 40, runs=3, seed=2, threads=threads) for threads in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    assert runs[0].evaluation == "live"
