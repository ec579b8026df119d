"""Linear models in the core, against their formulas, at every instruction-set level."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import ensample as es
from ensample import _core
from ensample.arms import Rows
from ensample.memory import aligned
from ensample.models import FreshEnsemble, LinearEnsemble
from ensample.models.ridge import effective_count, new_ridge, ridge_views

pytestmark = pytest.mark.usefixtures("level")


def observations(dim: int, count: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(dim)
    return scale * rng.standard_normal((count, dim)), rng.standard_normal(count)


def exact(
    X: np.ndarray, y: np.ndarray, prior: np.ndarray, kept: float = 1.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """V^-1, theta_hat and log(det V / det prior) in 60 digits.

    An observation counts kept^n after n others.
    """
    with mpmath.workdps(60):
        shares = [mpmath.mpf(kept) ** k for k in range(len(y))][::-1]
        V, b = mpmath.diag([mpmath.mpf(p) for p in prior]), mpmath.zeros(len(prior), 1)
        for x, reward, share in zip(X.tolist(), y.tolist(), shares, strict=True):
            column = mpmath.matrix(x)
            V += share * column * column.T
            b += share * reward * column
        inverse = V**-1
        theta = inverse * b
        growth = mpmath.log(mpmath.det(V)) - sum(mpmath.log(p) for p in prior)
        return (
            np.array(inverse.tolist(), float),
            np.array(theta.tolist(), float)[:, 0],
            float(growth),
        )


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("scale", [1.0, 1e4, 1e7])
def test_ridge_regression_agrees_with_sixty_digits(dim: int, scale: float) -> None:
    X, y = observations(dim, 30, scale)
    state = new_ridge(dim, 0.5)
    for x, reward in zip(X, y.tolist(), strict=True):
        _core.learn_ridge(state, x, reward)
    inverse, theta, growth = exact(X, y, np.full(dim, 0.5))
    parts = ridge_views(state)
    assert parts.seen[0] == 30
    np.testing.assert_allclose(parts.inverse, inverse, rtol=1e-8, atol=1e-9 * np.abs(inverse).max())
    np.testing.assert_allclose(parts.mean, theta, rtol=1e-8, atol=1e-9 * np.abs(theta).max())
    assert parts.information[0] == pytest.approx(growth, rel=1e-9)
    assert parts.squares[:, 0].sum() == pytest.approx(float(y @ y), rel=1e-14)


@pytest.mark.parametrize("dim", [1, 3, 6])
def test_a_past_that_fades_agrees_with_sixty_digits(dim: int) -> None:
    X, y = observations(dim, 40)
    rate, prior = math.log(2.0) / 10.0, np.linspace(0.5, 2.0, dim)
    state = new_ridge(dim, prior, rate)
    for x, reward in zip(X, y.tolist(), strict=True):
        _core.learn_ridge(state, x, reward)
    inverse, theta, growth = exact(X, y, prior, math.exp(-rate))
    parts = ridge_views(state)
    np.testing.assert_allclose(parts.inverse, inverse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(parts.mean, theta, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(parts.lengths[0], np.square(X).sum(axis=0), rtol=1e-14)
    assert parts.information[0] == pytest.approx(growth, rel=1e-9)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("dim", [1, 4, 9])
def test_members_are_sums_of_what_they_were_given(dim: int, learned: bool) -> None:
    rng, members, arms = np.random.default_rng(0), 70, 6
    X, y = observations(dim, 150)
    W, Z = rng.standard_normal((dim, members)), rng.standard_normal((len(X), members))
    state, empty, root = new_ridge(dim, 1.5), np.zeros((dim, members)), np.zeros((dim, dim))
    sums = np.vstack((empty, empty, W) if learned else (W, empty))
    for x, reward, z in zip(X, y.tolist(), Z, strict=True):
        _core.learn_members(state, sums, x, reward, z, None, None, root)
    V = 1.5 * np.eye(dim) + X.T @ X
    thetas = np.linalg.solve(
        V, (X.T @ y)[:, None] + 0.7 * ((math.sqrt(1.5) if learned else 1.0) * W + X.T @ Z)
    )
    found = _core.member_thetas(state, sums, 0.7)
    np.testing.assert_allclose(found, thetas, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(root.T @ root, X.T @ X, rtol=1e-10, atol=1e-10)
    offered = rng.standard_normal((dim, arms))
    best = (offered.T @ thetas).argmax(axis=0)
    assert _core.vote(state, sums, 0.7, offered, np.ones(dim)).tolist() == best.tolist()
    for member in range(0, members, 9):
        theta = _core.member_theta(state, sums, 0.7, member)
        assert theta.tolist() == found[:, member].tolist()
        assert _core.best_arm_of_member(state, sums, 0.7, member, offered) == best[member]


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_fresh_members_are_drawn_from_the_aged_history(rate: float) -> None:
    rng, dim, ageing = np.random.default_rng(2), 4, 0.3
    X, y = observations(dim, 60)
    state, root, gram_root, ages = (
        new_ridge(dim, 2.0, rate),
        np.zeros((dim, dim)),
        np.zeros((dim, dim)),
        np.zeros(2),
    )
    kept, G, aged, prior_age, last = (
        math.exp(-rate),
        np.zeros((dim, dim)),
        np.zeros((dim, dim)),
        0.0,
        0.0,
    )
    for count, (x, reward) in enumerate(zip(X, y.tolist(), strict=True), 1):
        _core.learn_fresh(state, root, gram_root, ages, ageing, x, reward)
        G, aged, prior_age = kept * G + np.outer(x, x), kept * aged, kept * prior_age
        if last == 0.0:
            last = float(count)
        elif count >= last + 0.25 * effective_count(last, rate):
            added = ageing * math.log2(1.0 + (count - last) / effective_count(last, rate))
            aged, prior_age, last = aged + added * G, prior_age + added, float(count)
    np.testing.assert_allclose(gram_root.T @ gram_root, G, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(root.T @ root, G + aged, rtol=1e-10, atol=1e-10)
    assert ages.tolist() == [pytest.approx(prior_age), last]
    w, g = rng.standard_normal((2, 30, dim))
    parts, offered = ridge_views(state), rng.standard_normal((dim, 9))
    sums = 0.6 * math.sqrt((1.0 + prior_age) * 2.0) * w + 0.4 * g @ root
    thetas = parts.mean + sums @ parts.inverse
    np.testing.assert_allclose(
        _core.fresh_thetas(state, root, ages[0], 0.6, 0.4, w, g), thetas, rtol=1e-10
    )
    votes = _core.vote_fresh(state, root, ages[0], 0.6, 0.4, w, g, offered, np.ones(dim))
    assert votes.tolist() == (thetas @ offered).argmax(axis=1).tolist()


@pytest.mark.parametrize("dim", [1, 2, 5, 17, 40])
def test_products_factors_and_inverses_are_those_of_numpy(dim: int) -> None:
    rng = np.random.default_rng(dim)
    rows, vector = rng.standard_normal((dim + 3, dim)), rng.standard_normal(dim)
    matrix, state = rows.T @ rows + np.eye(dim), new_ridge(dim, 2.0)
    R, inverse = _core.cholesky(matrix), _core.invert(matrix)
    np.testing.assert_allclose(R, np.linalg.cholesky(matrix).T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(
        _core.multiply(matrix, vector), matrix @ vector, rtol=1e-10, atol=1e-12
    )
    assert _core.cholesky(-matrix) is None
    assert _core.invert(-matrix) is None
    total, weights = vector.copy(), rng.standard_normal(dim + 3)
    _core.add_rows(total, rows, weights)
    np.testing.assert_allclose(total, vector + weights @ rows, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(_core.shift_mean(state, vector), 0.5 * vector)


# --- Rounding ------------------------------------------------------------------------------------


def after(X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    """Return the state of a ridge regression after some observations."""
    state = new_ridge(X.shape[1], lam)
    for x, reward in zip(X, y.tolist(), strict=True):
        _core.learn_ridge(state, x, reward)
    return state


def test_terms_that_a_double_would_swallow_are_kept() -> None:
    """V = 1 + 1e20 + 1000 * 1e-20."""
    X = np.array([[1e10]] + [[1e-10]] * 1000)
    parts = ridge_views(after(X, np.zeros(1001), 1.0))
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
    parts = ridge_views(after(X, rng.standard_normal(40), 1e-6))
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
    parts = ridge_views(after(length * np.ones((2, 2)), np.ones(2), 1e-20))
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
    state = after(rng.standard_normal((30, d)), rng.standard_normal(30), 1.0)
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


# --- Other recipes -------------------------------------------------------------------------------


def test_lowest_of_equal_arms_is_optimistic() -> None:
    for arms in range(1, 70):
        X = np.ones((3, arms)) * np.array([[0.1], [0.7], [0.3]])
        assert _core.optimistic_arm(np.eye(3) / 3.0, np.full(3, 0.1), X, 0.7) == 0


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


# --- Votes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "recipe",
    [
        es.EnsembleSampling(30),
        es.EnsembleSampling(30, fresh=False),
        es.EnsembleSampling(30, scale=0.5),
        es.EnsembleSampling(30, scale=0.5, fresh=True),
        es.EnsembleSampling(30, half_life=9),
        es.EnsembleSampling(30, half_life=9, fresh=False),
    ],
    ids=repr,
)
def test_every_member_votes_for_its_greedy_arm(recipe: es.EnsembleSampling) -> None:
    """Features 6 to 8 are not seen in the first 30 rounds, and are in other units afterwards."""
    policy = recipe.start(es.ChangingArms(9), seed=3)
    rng, everybody = np.random.default_rng(0), np.arange(30)
    for t in range(60):
        rows = rng.normal(size=(7, 9)) * (rng.random((7, 9)) < 0.6)
        if t < 30:
            rows[:, 6:] = 0.0
        model = policy.model.at(policy.round)
        assert isinstance(model, LinearEnsemble | FreshEnsemble)
        if t % 5 == 4:
            offer = Rows(rows if t < 30 else rows * [1, 1, 1, 1, 1, 1, 50, 0.1, 1])
            scores = model.in_known_units(offer).rows @ model.thetas()
            found = model.greedy_votes(offer.by_coordinate)
            best = scores.max(axis=0)
            assert np.allclose(scores[found, everybody], best, rtol=1e-9), "equal but for rounding"
            assert np.mean(found == model.votes(offer)[0]) > 0.95
            wrong = (found + 1) % 7
            assert not np.allclose(scores[wrong, everybody], best, rtol=1e-9), "negative control"
        policy.update(policy.decide(rows), rng.normal())


def test_aligned_arrays_begin_with_a_cache_line() -> None:
    arrays = aligned((3, 5), (1,), (20, 20))
    for array in arrays:
        assert array.ctypes.data % 64 == 0 and array.flags.c_contiguous and not array.any()
        array += 1.0
    assert [array.sum() for array in arrays] == [15.0, 1.0, 400.0], "they do not overlap"
