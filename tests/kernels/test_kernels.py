"""Kernels against slow twins."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensample.kernels import ensemble, exact, learning, ridge
from ensample.kernels import rows as rows_kernel
from naive import textbook

exact.two_sum(1.0, 2.0)  # helpers are compiled anew in every process: not on hypothesis' clock
exact.two_product(1.0, 2.0)
finite = st.floats(-1e50, 1e50).filter(lambda x: x == 0 or abs(x) > 1e-50)


@given(a=finite, b=finite)
@settings(deadline=None)  # the first call compiles
def test_two_sum_and_two_product_are_exact(a: float, b: float) -> None:
    total, error = exact.two_sum(a, b)
    assert Fraction(total) + Fraction(error) == Fraction(a) + Fraction(b)
    product, error = exact.two_product(a, b)
    assert Fraction(product) + Fraction(error) == Fraction(a) * Fraction(b)


def polish_if_rough(state: np.ndarray) -> None:
    if np.isnan(ridge.views(state).information[0]):
        ridge.polish(state)


def state_after(X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    state = ridge.new_ridge(X.shape[1], lam)
    for x, reward in zip(X, y, strict=True):
        ridge.observe(state, x, reward)
        polish_if_rough(state)
    return state


@pytest.mark.parametrize("d", [1, 3, 20])
def test_observe_is_ridge_regression(d: int) -> None:
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((200, d)), rng.standard_normal(200)
    state = state_after(X, y, 0.5)
    V = 0.5 * np.eye(d) + X.T @ X
    parts = ridge.views(state)
    np.testing.assert_allclose(parts.gram, V, rtol=1e-13)
    np.testing.assert_allclose(parts.target, X.T @ y, atol=1e-12)
    np.testing.assert_allclose(parts.inverse @ V, np.eye(d), atol=1e-11)
    np.testing.assert_allclose(parts.mean, np.linalg.solve(V, X.T @ y), rtol=1e-10)
    assert parts.seen[0] == 200
    assert parts.information[0] == pytest.approx(np.linalg.slogdet(V)[1] - d * np.log(0.5))
    assert ridge.stiffness(state) <= np.linalg.cond(V) * (1 + 1e-9) <= d**2 * ridge.stiffness(state) * (1 + 1e-6)


def test_sums_are_kept_to_twice_the_digits() -> None:
    """A term that a double would swallow is not lost: V = 1 + 1e10 * 1e-20 + 1e20."""
    state = state_after(np.array([[1e10]] + [[1e-10]] * 1000), np.zeros(1001), 1.0)
    parts = ridge.views(state)
    total = Fraction(parts.gram[0, 0]) + Fraction(parts.gram_low[0, 0])
    truth = 1 + Fraction(1e10) ** 2 + 1000 * Fraction(1e-10) ** 2
    assert abs(total - truth) / truth < Fraction(1, 10**30)


def test_polish_repairs_a_spoilt_inverse() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    state = state_after(X, y, 1.0)
    parts = ridge.views(state)
    good, information = parts.mean.copy(), parts.information[0]
    parts.inverse[...] *= 1.001
    parts.mean[...] += 1e-3
    parts.information[0] = np.nan
    ridge.polish(state)
    np.testing.assert_allclose(parts.mean, good, rtol=1e-12)
    np.testing.assert_allclose(parts.inverse, np.linalg.inv(parts.gram), rtol=1e-10)
    assert parts.information[0] == pytest.approx(information, rel=1e-12)


def test_polish_is_due_where_rank_one_updates_are_not_exact() -> None:
    """After every 256th observation, after one of high leverage, and as long as V is stiff: it changes nothing else."""
    rng = np.random.default_rng(1)
    state, rough = ridge.new_ridge(2, 1.0), []
    for n in range(1, 600):
        ridge.observe(state, np.array([1e4, 0.0]) if n == 300 else rng.standard_normal(2), 1.0)
        if np.isnan(ridge.views(state).information[0]):
            rough.append(n)
        polish_if_rough(state)
    assert rough == [256, 300, 512]
    ridge.observe(state, np.array([1e6, 0.0]), 1.0)
    polish_if_rough(state)
    assert ridge.stiffness(state) > ridge.STIFF
    ridge.observe(state, np.array([0.0, 1.0]), 1.0)
    parts = ridge.views(state)
    assert np.isnan(parts.information[0])
    polish_if_rough(state)
    np.testing.assert_allclose(parts.mean, np.linalg.solve(parts.gram, parts.target), rtol=1e-9)
    assert parts.information[0] == pytest.approx(np.linalg.slogdet(parts.gram)[1])


@pytest.mark.parametrize("length", [1.0, 1e10, 1e100])
def test_there_is_an_inverse_where_lam_is_lost_beside_the_features(length: float) -> None:
    """V = 1e-20 I + x x' to no more than 32 digits: what is left is finite, symmetric and positive definite."""
    parts = ridge.views(state_after(length * np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2), 1e-20))
    assert np.isfinite(parts.inverse).all() and np.isfinite(parts.information[0])
    assert length * parts.mean.sum() == pytest.approx(1.0, rel=1e-12)
    assert parts.inverse.diagonal().min() > 0.0


@pytest.mark.parametrize("d", [1, 2, 7])
def test_invert(d: int) -> None:
    A = np.random.default_rng(d).standard_normal((d + 2, d))
    np.testing.assert_allclose(ridge.invert(A.T @ A), np.linalg.inv(A.T @ A), rtol=1e-9)
    assert ridge.invert(-np.eye(d)).size == 0
    assert ridge.invert(np.full((d, d), np.nan)).size == 0


def test_rotate_keeps_a_triangular_root() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    X[3] = 0.0
    X[:, 4] = X[:, 0]  # never of full rank
    factor = np.zeros((5, 5))
    for n, x in enumerate(X, 1):
        ridge.rotate(factor, x)
        np.testing.assert_allclose(factor.T @ factor, X[:n].T @ X[:n], atol=1e-12)
    assert (np.tril(factor, -1) == 0.0).all()


def test_one_member_and_all_members_agree_to_the_bit() -> None:
    rng = np.random.default_rng(1)
    d, m, K = 7, 600, 40
    X = rng.standard_normal((K, d))
    X[11] = X[3]  # a tie in every round
    state = state_after(rng.standard_normal((30, d)), rng.standard_normal(30), 1.0)
    sums = np.vstack((rng.standard_normal((d, m)), 1e-16 * rng.standard_normal((d, m))))
    by_coordinate = np.ascontiguousarray(X.T)
    thetas = ensemble.estimates(state, sums, 1.3)
    votes, promises = ensemble.votes(thetas, by_coordinate)
    for j in range(m):
        theta = ensemble.estimate(state, ensemble.total_of(state, sums, 1.3, j))
        np.testing.assert_array_equal(theta, thetas[:, j])
        assert ensemble.choose(state, sums, 1.3, j, by_coordinate) == votes[j] == ensemble.greedy(theta, by_coordinate)
    assert votes.tolist() == textbook.votes(X, thetas.T)
    assert 11 not in votes
    np.testing.assert_allclose(promises, (X @ thetas).max(axis=0), rtol=1e-13)


def test_learn_perturbs_every_member() -> None:
    rng = np.random.default_rng(2)
    state, W = state_after(np.zeros((0, 3)), np.zeros(0), 1.0), rng.standard_normal((3, 9))
    x, z, sums = rng.standard_normal(3), rng.standard_normal(9), np.vstack((W, np.zeros((3, 9))))
    learning.learn(state, sums, read_only(x), 0.5, z)
    np.testing.assert_array_equal(sums, np.vstack((W, np.outer(x, z))))


def read_only(x: np.ndarray) -> np.ndarray:
    """As policies hand it over: the kernel that they use, and not another one for arrays that may be written to."""
    x.setflags(write=False)
    return x


def test_older_and_newer_sums_lose_nothing() -> None:
    """Terms of 1e-10 beside one of 1e10: after a million rounds of plain additions none of them would be left."""
    state, sums = state_after(np.zeros((0, 1)), np.zeros(0), 1.0), np.array([[1e10], [0.0]])
    for _ in range(640):
        learning.learn(state, sums, read_only(np.ones(1)), 0.0, np.array([1e-10]))
    total = Fraction(sums[0, 0]) + Fraction(sums[1, 0])
    assert abs(total / (Fraction(1e10) + 640 * Fraction(1e-10)) - 1) < Fraction(1, 10**26)
    assert sums[0, 0] == 1e10 and sums[1, 0] == pytest.approx(640e-10, rel=1e-9)


def test_add_rows() -> None:
    rng = np.random.default_rng(3)
    total, rows, weights = rng.standard_normal(4), rng.standard_normal((6, 4)), rng.standard_normal(6)
    expected = total + weights @ rows
    rows_kernel.add_rows(total, rows, weights)
    np.testing.assert_allclose(total, expected)


def test_polish_is_exact_however_stiff() -> None:
    """Condition number 1e14: a plain Cholesky has two digits left."""
    rng = np.random.default_rng(4)
    X = np.ones((40, 3)) + 1e-6 * rng.standard_normal((40, 3))
    state = state_after(1e4 * X, rng.standard_normal(40), 1e-6)
    ridge.polish(state)
    gram, low, inverse, *_ = ridge.views(state)
    V = [[Fraction(float(gram[k, j])) + Fraction(float(low[k, j])) for j in range(3)] for k in range(3)]
    for i in range(3):
        column = [Fraction(float(value)) for value in inverse[i]]
        error = [sum(V[k][j] * column[j] for j in range(3)) - (k == i) for k in range(3)]
        size = max(abs(entry) for row in V for entry in row) * max(map(abs, column))
        assert max(map(abs, error)) < size / 10**15


def test_add_some_rows_is_add_rows_of_those() -> None:
    rng = np.random.default_rng(4)
    start, rows, weights = rng.standard_normal(5), rng.standard_normal((9, 5)), rng.standard_normal(9)
    which = np.array([8, 0, 3, 3, 1, 7, 2])
    for count in range(which.size + 1):
        total, expected = start.copy(), start.copy()
        rows_kernel.add_some_rows(total, rows, which, weights, count)
        rows_kernel.add_rows(expected, rows[which[:count]], weights[:count])
        np.testing.assert_array_equal(total, expected)


@given(st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan]), min_size=1, max_size=11))
@settings(deadline=None)  # the first call compiles
def test_argmax_is_the_plain_loop(scores: list[float]) -> None:
    best = 0
    for k, score in enumerate(scores):
        if score > scores[best]:
            best = k
    assert rows_kernel.argmax(np.array(scores)) == best
