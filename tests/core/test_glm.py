"""Generalised linear models of the compiled core, against versions in plain NumPy."""

import numpy as np
import pytest
from scipy import optimize

import ensample as es
from ensample import _core
from ensample.models.glm import LOGISTIC_LINK

HUGE = 1e9  # of a predictor


pytestmark = pytest.mark.usefixtures("level")


def logistic(u: np.ndarray | float) -> np.ndarray:
    """Return 1 / (1 + exp(-u))."""
    return np.asarray(
        np.where(np.asarray(u) >= 0.0, 1.0, np.exp(-np.abs(u))) / (1.0 + np.exp(-np.abs(u)))
    )


def loss(theta: float, seen: float, clicked: float, prior: float) -> float:
    """Return F of cpp/newton.hpp for one feature that is 1, without a shift."""
    return float(seen * np.logaddexp(0.0, theta) - clicked * theta + 0.5 * prior * theta**2)


@pytest.fixture
def clicks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, how often each was seen, and the clicks among these."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4))
    counts = rng.integers(0, 20, 30).astype(float)
    return (
        rows,
        counts,
        rng.binomial(counts.astype(int), logistic(rows @ [1.0, -1.0, 0.5, 2.0])).astype(float),
    )


def test_means_and_variances_of_the_logistic_link() -> None:
    u = np.concatenate(
        [np.random.default_rng(0).normal(0.0, 5.0, 1000), [0.0, 40.0, -40.0, HUGE, -HUGE]]
    )
    np.testing.assert_allclose(_core.link_means(LOGISTIC_LINK, u), logistic(u), rtol=1e-15)
    np.testing.assert_allclose(
        _core.link_slopes(LOGISTIC_LINK, u), logistic(u) * logistic(-u), rtol=1e-15
    )


def test_minimiser_has_no_slope(clicks: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    rows, counts, totals = clicks
    prior, shift, theta = np.full(4, 0.5), np.array([1.0, -2.0, 0.0, 0.3]), np.zeros(4)
    assert _core.minimise(LOGISTIC_LINK, rows, counts, totals, prior, shift, 1e-10, theta)
    slope = rows.T @ (counts * logistic(rows @ theta) - totals) + prior * theta - shift
    assert np.abs(slope).max() < 1e-9


def test_steps_that_would_climb_are_shortened() -> None:
    """From far away, where the link is flat, whole steps of Newton's method diverge."""
    rows, counts, totals = np.array([[1.0], [1.0]]), np.array([50.0, 50.0]), np.array([25.0, 30.0])
    prior, shift, theta = np.array([1e-3]), np.zeros(1), np.array([60.0])
    assert _core.minimise(LOGISTIC_LINK, rows, counts, totals, prior, shift, 1e-10, theta)
    best = optimize.minimize_scalar(loss, (-5.0, 5.0), args=(100.0, 55.0, 1e-3))
    assert theta[0] == pytest.approx(best.x, abs=1e-4)


def test_hessian_and_newton_step(clicks: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    rows, counts, totals = clicks
    prior, shift, theta, step = np.full(4, 0.5), np.zeros(4), np.full(4, 0.1), np.empty(4)
    means = logistic(rows @ theta)
    slopes = means * (1.0 - means)
    H = np.diag(prior) + (rows.T * (counts * slopes)) @ rows
    np.testing.assert_allclose(_core.hessian(rows, counts, slopes, prior), H, rtol=1e-13)
    length = _core.newton_step(rows, counts, totals, prior, shift, theta, means, slopes, step)
    expected = -np.linalg.solve(H, rows.T @ (counts * means - totals) + prior * theta - shift)
    np.testing.assert_allclose(step, expected, rtol=1e-11)
    assert length == pytest.approx(np.sqrt(expected @ H @ expected))


# --- The implicit step ---------------------------------------------------------------------------

RNG = np.random.default_rng(0)
CASES = [
    (sign * size, 10.0**power, y)
    for size in (0.0, 1e-12, 0.3, 2.0, 9.0, 40.0, 700.0)
    for sign in (1.0, -1.0)
    for power in (-14, -6, -3, -1, 0, 1, 3, 6)
    for y in (0.0, 1.0, 0.3, 1e-9)
] + [
    (RNG.normal(0.0, 4.0), 10.0 ** RNG.uniform(-6, 4), float(RNG.random() < 0.1))
    for _ in range(200)
]


def distance(u: float, q: float, y: float, v: float) -> float:
    """About how far v is from the root, in units of its last digit."""
    v = np.longdouble(v)
    small = np.exp(-abs(v))
    mean, other = (
        (1 / (1 + small), small / (1 + small)) if v >= 0 else (small / (1 + small), 1 / (1 + small))
    )
    excess = v - u + q * ((1 - np.longdouble(y)) * mean - np.longdouble(y) * other)
    return abs(float(excess / (1 + q * mean * other))) / (
        np.finfo(float).eps * max(1.0, abs(u), abs(float(v)))
    )


class Unknown(es.Logistic):
    """A link that the core does not know."""

    code = None


@pytest.mark.parametrize(
    "solve",
    [lambda *case: _core.implicit_step(LOGISTIC_LINK, *case), Unknown().implicit],
    ids=["core", "python"],
)
def test_the_root_is_right_to_its_last_digits(solve) -> None:
    worst = max(distance(*case, solve(*case)) for case in CASES)
    assert worst < 8.0
    off = [distance(*case, solve(*case) + 1e-13) for case in CASES if abs(case[0]) < 3.0]
    assert min(off) > 8.0, "the control: a root that is off by a little"
