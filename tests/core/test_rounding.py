"""Promises of the core about rounding.

Exact sums, recomputed inverses, equal bits of one member and all.
"""

from fractions import Fraction

import numpy as np
import pytest

from ensample import _core
from ensample.memory import aligned
from ensample.models.ridge import new_ridge, ridge_views


def learned(X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    """Return the state of a ridge regression after some observations."""
    state = new_ridge(X.shape[1], lam)
    for x, reward in zip(X, y.tolist(), strict=True):
        _core.learn_ridge(state, x, reward)
    return state


def test_terms_that_a_double_would_swallow_are_kept() -> None:
    """V = 1 + 1e20 + 1000 * 1e-20."""
    X = np.array([[1e10]] + [[1e-10]] * 1000)
    parts = ridge_views(learned(X, np.zeros(1001), 1.0))
    total = Fraction(parts.gram[0, 0]) + Fraction(parts.gram_low[0, 0])
    exact = 1 + Fraction(1e10) ** 2 + 1000 * Fraction(1e-10) ** 2
    assert abs(total - exact) / exact < Fraction(1, 10**30)


def test_small_perturbations_are_not_lost_beside_large_ones() -> None:
    """Terms of 1e-10 beside one of 1e10: plain additions would lose each of them."""
    state, sums = new_ridge(1, 1.0), np.array([[1e10], [0.0]])
    for _ in range(640):
        _core.learn_members(state, sums, np.ones(1), 0.0, np.array([1e-10]))
    total = Fraction(sums[0, 0]) + Fraction(sums[1, 0])
    assert abs(total / (Fraction(1e10) + 640 * Fraction(1e-10)) - 1) < Fraction(1, 10**26)


def error_of_inverse(state: np.ndarray) -> float:
    parts = ridge_views(state)
    return float(np.abs(parts.inverse @ parts.gram - np.eye(state.shape[1])).max())


def test_inverse_is_recomputed_at_intervals_and_after_high_leverage() -> None:
    """A wrong inverse is repaired when it is recomputed: after observations 256, 300 and 512."""
    rng, state, repaired = np.random.default_rng(1), new_ridge(2, 1.0), []
    for n in range(1, 600):
        spoilt = state.copy()
        ridge_views(spoilt).inverse[...] *= 1.001
        x = np.array([1e4, 0.0]) if n == 300 else rng.standard_normal(2)
        _core.learn_ridge(spoilt, x, 1.0)
        _core.learn_ridge(state, x, 1.0)
        if error_of_inverse(spoilt) < 1e-9:
            repaired.append(n)
    assert repaired == [256, 300, 512]
    ridge_views(state).inverse[...] *= 1.001
    _core.learn_ridge(state, np.array([1e6, 0.0]), 1.0)
    ridge_views(state).inverse[...] *= 1.001
    _core.learn_ridge(state, np.array([0.0, 1.0]), 1.0)
    assert error_of_inverse(state) < 1e-9, "after each observation where V is ill-conditioned"


def test_inverse_has_all_digits_at_condition_1e14() -> None:
    """A Cholesky factor in doubles has two digits left."""
    rng = np.random.default_rng(4)
    X = 1e4 * (np.ones((40, 3)) + 1e-6 * rng.standard_normal((40, 3)))
    parts = ridge_views(learned(X, rng.standard_normal(40), 1e-6))
    V = [
        [
            Fraction(float(parts.gram[k, j])) + Fraction(float(parts.gram_low[k, j]))
            for j in range(3)
        ]
        for k in range(3)
    ]
    largest = max(abs(entry) for row in V for entry in row)
    for i in range(3):
        column = [Fraction(float(value)) for value in parts.inverse[i]]
        errors = [sum(V[k][j] * column[j] for j in range(3)) - (k == i) for k in range(3)]
        assert max(map(abs, errors)) < largest * max(map(abs, column)) / 10**15


@pytest.mark.parametrize("length", [1.0, 1e10, 1e100])
def test_inverse_is_positive_definite_where_lam_is_lost_beside_the_features(length: float) -> None:
    """V = 1e-20 I + 2 x x' has no more digits for lam."""
    parts = ridge_views(learned(length * np.ones((2, 2)), np.ones(2), 1e-20))
    assert np.isfinite(parts.inverse).all()
    assert np.isfinite(parts.information[0])
    assert length * parts.mean.sum() == pytest.approx(1.0, rel=1e-12)
    assert parts.inverse.diagonal().min() > 0.0


def test_triangular_root_stays_one_where_features_are_collinear() -> None:
    X = np.random.default_rng(0).standard_normal((30, 5))
    X[3] = 0.0
    X[:, 4] = X[:, 0]
    state, root, pulls = new_ridge(5, 1.0), np.zeros((5, 5)), np.zeros(1, np.int64)
    for n, x in enumerate(X, 1):
        _core.learn_history(state, root, pulls, 0, x, 1.0)
        np.testing.assert_allclose(root.T @ root, X[:n].T @ X[:n], atol=1e-12)
    assert (np.tril(root, -1) == 0.0).all()


def test_one_member_and_all_members_have_the_same_bits() -> None:
    """Arm 11 equals arm 5, which is the one to be chosen."""
    rng, d, m, arms = np.random.default_rng(1), 7, 600, 40
    X = rng.standard_normal((arms, d))
    X[11] = X[5]
    state = learned(rng.standard_normal((30, d)), rng.standard_normal(30), 1.0)
    sums = np.vstack((rng.standard_normal((d, m)), 1e-16 * rng.standard_normal((d, m))))
    by_coordinate = np.ascontiguousarray(X.T)
    thetas = _core.member_thetas(state, sums, 1.3)
    chosen, scores = np.empty(m, np.int64), np.empty(m)
    _core.greedy_arms(thetas, by_coordinate, chosen, scores)
    for j in range(m):
        theta = _core.member_theta(state, sums, 1.3, j)
        assert theta.tobytes() == thetas[:, j].tobytes()
        assert _core.greedy_arm(theta, by_coordinate) == chosen[j]
        assert _core.best_arm_of_member(state, sums, 1.3, j, by_coordinate) == chosen[j]
    assert 5 in chosen
    assert 11 not in chosen
    np.testing.assert_allclose(scores, (X @ thetas).max(axis=0), rtol=1e-13)


def test_aligned_arrays_begin_with_a_cache_line() -> None:
    arrays = aligned((3, 5), (1,), (20, 20))
    for array in arrays:
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
        assert not array.any()
        array += 1.0
    assert [array.sum() for array in arrays] == [15.0, 1.0, 400.0], "they do not overlap"
