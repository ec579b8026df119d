"""Kernels of linear recipes against obvious NumPy."""

from collections.abc import Callable

import numpy as np
import pytest

from ensample import _core
from ensample.models.ridge import new_ridge
from naive import relatives

SHAPES = [(1, 1), (3, 5), (5, 20), (9, 70)]  # features, arms


pytestmark = pytest.mark.usefixtures("level")


def problem(d: int, arms: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    """Return a generator, V, theta_hat and the arms, a column each."""
    rng = np.random.default_rng(100 * d + arms)
    A = rng.standard_normal((2 * d, d))
    return rng, A.T @ A + np.eye(d), rng.standard_normal(d), rng.standard_normal((d, arms))


@pytest.mark.parametrize(("d", "arms"), SHAPES)
def test_optimistic_arm_has_the_largest_upper_bound(d: int, arms: int) -> None:
    _, V, theta, X = problem(d, arms)
    inverse = np.linalg.inv(V)
    for beta in (0.0, 0.3, 3.0):
        bounds = X.T @ theta + beta * np.sqrt(np.einsum("ik,ij,jk->k", X, inverse, X))
        assert _core.optimistic_arm(inverse, theta, X, beta) == np.argmax(bounds)


def test_lowest_of_equal_arms_is_optimistic() -> None:
    for arms in range(1, 70):
        X = np.ones((3, arms)) * np.array([[0.1], [0.7], [0.3]])
        assert _core.optimistic_arm(np.eye(3) / 3.0, np.full(3, 0.1), X, 0.7) == 0


def staged(V: np.ndarray, theta: np.ndarray, stages: int) -> tuple[np.ndarray, np.ndarray]:
    """Return V^-1 and theta_hat of stages that know the less the later they are."""
    inverses = np.array([np.linalg.inv(V * 4.0 ** (2 - s)) for s in range(stages)])
    return inverses, np.array([theta / (s + 1.0) for s in range(stages)])


def staged_arm(
    inverses: np.ndarray, means: np.ndarray, X: np.ndarray, radius: float, floor: float
) -> tuple[int, int, bool]:
    left = np.full(X.shape[1], True)
    for s, (inverse, mean) in enumerate(zip(inverses, means, strict=True)):
        widths = radius * np.sqrt(np.einsum("ik,ij,jk->k", X, inverse, X))
        promises = np.where(left, X.T @ mean + widths, -np.inf)
        widest, best = int(np.argmax(np.where(left, widths, -1.0))), int(np.argmax(promises))
        if widths[widest] <= floor:
            return best, s, False
        if widths[widest] > 0.5 ** (s + 1):
            return widest, s, True
        left &= promises >= promises[best] - 2.0 * 0.5 ** (s + 1)
    return best, len(means) - 1, False


@pytest.mark.parametrize(("d", "arms"), SHAPES)
def test_staged_arm_goes_through_the_stages(d: int, arms: int) -> None:
    _, V, theta, X = problem(d, arms)
    inverses, means = staged(V, theta, 5)
    found = set()
    for radius in (0.0, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0):
        for floor in (1e-9, 0.05):
            choice = _core.staged_arm(inverses, means, X, radius, floor)
            assert choice == staged_arm(inverses, means, X, radius, floor)
            found.add(choice[1:])
    assert len(found) >= 3, "negative control: several stages decide"


@pytest.mark.parametrize(("d", "arms"), SHAPES)
@pytest.mark.parametrize("members", [1, 7, 30])
def test_informed_pair_minimises_the_information_ratio(d: int, arms: int, members: int) -> None:
    rng, _, theta, X = problem(d, arms)
    thetas = theta[:, None] + 0.3 * rng.standard_normal((d, members))
    gaps, gains = relatives.gaps_and_gains(np.ascontiguousarray(X.T), thetas.T)
    first, second, share = _core.informed_pair(thetas, X)
    expected = _core.best_pair(gaps, gains, X.T @ thetas.mean(axis=1))
    assert (first, second) == expected[:2]
    assert share == pytest.approx(expected[2])


@pytest.mark.parametrize("d", [1, 4, 9])
def test_replicates_are_solved(d: int) -> None:
    rng, V, _, _ = problem(d, 1)
    grams, targets = (
        np.array([V, 2.0 * V + np.eye(d), np.zeros((d, d))]),
        rng.standard_normal((3, d)),
    )
    thetas = np.full((3, d), np.nan)
    _core.solve_replicates(grams, targets, thetas)
    np.testing.assert_allclose(thetas[0], np.linalg.solve(V, targets[0]), rtol=1e-10)
    np.testing.assert_allclose(thetas[1], np.linalg.solve(grams[1], targets[1]), rtol=1e-10)
    assert not thetas[2].any(), "a singular one"


def test_arms_of_the_basis_are_played_in_turn() -> None:
    basis, pulls = np.array([1, 3, 4]), np.array([0, 0, 5, 2, 0])
    assert [_core.unplayed(basis, pulls, t) for t in range(4)] == [1, 4, 1, 4]
    assert _core.unplayed(basis, np.ones(5, np.int64), 0) is None
    assert _core.unplayed(np.zeros(0, np.int64), pulls, 0) is None


def learned(
    dim: int, rounds: int, learn: Callable[[np.ndarray, np.ndarray, float], None]
) -> np.ndarray:
    """Return a ridge regression after so many calls learn(state, x, y); compare it with V^-1 b."""
    state, rng = new_ridge(dim, 1.0), np.random.default_rng(dim)
    X, y = rng.standard_normal((rounds, dim)), rng.standard_normal(rounds)
    for x, reward in zip(X, y.tolist(), strict=True):
        learn(state, x, reward)
    V = np.eye(dim) + X.T @ X
    np.testing.assert_allclose(state[2 * dim : 3 * dim], np.linalg.inv(V), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(state[3 * dim + 2], np.linalg.solve(V, X.T @ y), rtol=1e-9)
    assert state[3 * dim + 3, 0] == rounds
    return state


@pytest.mark.parametrize("d", [1, 3, 12])
def test_largest_estimate_is_kept(d: int) -> None:
    largest, lengths = np.zeros(1), [0.0]

    def learn(state: np.ndarray, x: np.ndarray, y: float) -> None:
        _core.learn_optimist(state, largest, x, y)
        lengths.append(float(np.linalg.norm(state[3 * d + 2])))
        assert largest[0] == pytest.approx(max(lengths), rel=1e-14)

    learned(d, 600, learn)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_pulls_are_counted(d: int) -> None:
    pulls, arms = np.zeros(4, np.int64), iter([0, 2, 2, -1, 3])
    learned(d, 5, lambda state, x, y: _core.learn_pull(state, pulls, next(arms), x, y))
    assert pulls.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize("d", [1, 3, 12])
def test_directions_add_up(d: int) -> None:
    rng, size = np.random.default_rng(5), 6
    directions, expected = np.vstack((np.ones((size, d)), np.zeros((size, d)))), np.ones((size, d))

    def learn(state: np.ndarray, x: np.ndarray, y: float) -> None:
        z = rng.standard_normal(size)
        expected[:] += np.outer(z, x)
        _core.learn_directions(state, directions, x, y, z)

    state, weights = learned(d, 200, learn), rng.standard_normal(size)
    np.testing.assert_allclose(directions[:size] + directions[size:], expected, rtol=1e-12)
    theta = state[3 * d + 2] + state[2 * d : 3 * d] @ (expected.T @ weights)
    np.testing.assert_allclose(
        _core.theta_of_directions(state, directions, weights), theta, rtol=1e-10
    )


@pytest.mark.parametrize("d", [1, 3, 12])
def test_replicates_weigh_observations(d: int) -> None:
    rng, count, pseudo = np.random.default_rng(6), 4, 0.3
    grams, targets = np.tile(np.eye(d), (count, 1, 1)), np.zeros((count, d))
    expected, pulls = (grams.copy(), targets.copy()), np.zeros(2, np.int64)

    def learn(state: np.ndarray, x: np.ndarray, y: float) -> None:
        weights = 1.0 + rng.standard_normal((count, 3))
        real, low, high = np.maximum(weights, 0.0).T * [[1.0], [pseudo], [pseudo]]
        expected[0][:] += (real + low + high)[:, None, None] * np.outer(x, x)
        expected[1][:] += np.outer(real * y + high, x)
        _core.learn_replicates(state, grams, targets, pulls, weights, pseudo, 1, x, y)

    learned(d, 50, learn)
    np.testing.assert_allclose(grams, expected[0], rtol=1e-12)
    np.testing.assert_allclose(targets, expected[1], rtol=1e-10, atol=1e-12)
    assert pulls.tolist() == [0, 50]


@pytest.mark.parametrize("d", [1, 3])
def test_stage_of_the_arm_learns(d: int) -> None:
    rng, stages, arms = np.random.default_rng(7), 4, 6
    X = rng.standard_normal((d, arms))
    grams = np.tile(np.eye(d), (stages, 1, 1))
    inverses, targets, means = grams.copy(), np.zeros((stages, d)), np.zeros((stages, d))
    state, fed = new_ridge(d, 1.0), []
    for _ in range(300):
        arm, stage, learns = _core.staged_arm(inverses, means, X, 0.4, 0.05)
        played = int(rng.integers(-1, arms)) if rng.random() < 0.3 else arm
        x = X[:, max(played, 0)].copy()
        widths = 0.4 * np.sqrt(np.einsum("i,sij,j->s", x, inverses, x))
        unsure = np.flatnonzero(widths > np.maximum(0.5 ** np.arange(1, stages + 1), 0.05))
        expected = (
            (stage if learns else None)
            if played == arm
            else int(unsure[0])
            if unsure.size
            else None
        )
        before = grams.copy()
        _core.learn_staged(
            state, grams, inverses, targets, means, X, played, x, float(rng.random()), 0.4, 0.05
        )
        changed = np.flatnonzero((grams != before).any(axis=(1, 2))).tolist()
        assert changed == ([] if expected is None else [expected])
        fed.append(expected)
    assert len(set(fed)) >= 3, "negative control: several stages learn, and sometimes none"
    np.testing.assert_allclose(inverses, np.linalg.inv(grams), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(
        means, np.linalg.solve(grams, targets[..., None])[..., 0], rtol=1e-10
    )


def test_optimistic_theta_promises_the_upper_bound() -> None:
    _, V, theta, X = problem(5, 3)
    inverse, x = np.linalg.inv(V), X[:, 0].copy()
    promised = x @ _core.optimistic_theta(inverse, theta, x, 0.7)
    assert promised == pytest.approx(x @ theta + 0.7 * np.sqrt(x @ inverse @ x))
    np.testing.assert_array_equal(_core.optimistic_theta(inverse, theta, np.zeros(5), 0.7), theta)


@pytest.mark.parametrize("lam", [1.0, 1e-12])
def test_pseudo_rewards_are_binomial(lam: float) -> None:
    """Draws are NumPy's.

    With next to no regularization and one arm, G cannot be inverted in doubles.
    """
    d, a = 3, 0.7
    rng, X = (
        np.random.default_rng(8),
        np.random.default_rng(9).standard_normal((5, d)) * (1.0 if lam == 1.0 else 1e5),
    )
    state = new_ridge(d, 1.0)
    pulls = np.array([3, 0, 200, 1, 40]) if lam == 1.0 else np.array([9, 0, 0, 0, 0])
    for arm in np.repeat(np.arange(5), pulls):
        _core.learn_pull(state, np.zeros(5, np.int64), int(arm), X[arm], float(rng.random()))
    heads = np.random.default_rng(10).binomial(np.ceil(a * pulls).astype(np.int64), 0.5)
    total = X.T @ heads
    theta = _core.theta_of_pseudo_rewards(state, X, pulls, a, lam, np.random.default_rng(10))
    G = (a + 1.0) * lam * np.eye(d) + (X.T * (pulls + np.ceil(a * pulls))) @ X
    if lam == 1.0:
        expected = np.linalg.solve(G, state[3 * d] + total)
    else:
        expected = (state[3 * d + 2] + state[2 * d : 3 * d] @ total) / (a + 1.0)
    np.testing.assert_allclose(theta, expected, rtol=1e-9 if lam == 1.0 else 1e-3)
