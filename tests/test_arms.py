"""Arms answer argmax_x x'theta."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ensample as es
from ensample.arms import FEW
from naive import textbook

small = st.floats(-3, 3).map(lambda x: round(x, 1))


@given(
    features=arrays(float, st.tuples(st.integers(1, 6), st.just(3)), elements=small),
    theta=arrays(float, 3, elements=small),
)
def test_finite_arms_find_the_first_of_the_best(features: np.ndarray, theta: np.ndarray) -> None:
    arm, x = es.FiniteArms(features).best(theta)
    assert arm == textbook.votes(features, theta[None])[0]
    np.testing.assert_array_equal(x, features[arm])


@given(theta=arrays(float, 4, elements=st.floats(-1e100, 1e100)))
def test_the_ball_points_at_theta(theta: np.ndarray) -> None:
    arm, x = es.UnitBall(4).best(theta)
    assert arm is None and np.linalg.norm(x) == pytest.approx(1.0)
    largest = np.abs(theta).max()
    if largest > 0:
        scaled = theta / largest
        assert x @ scaled == pytest.approx(np.linalg.norm(scaled))
    else:
        assert x.tolist() == [1, 0, 0, 0]


@given(theta=arrays(float, 3, elements=small))
def test_the_box_is_its_corners(theta: np.ndarray) -> None:
    low, high = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 2.0])
    _, x = es.Box(low, high).best(theta)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    assert x @ theta == pytest.approx((corners @ theta).max())


def test_promises_are_what_the_best_arm_brings() -> None:
    thetas = np.random.default_rng(0).standard_normal((5, 3))
    features = np.random.default_rng(1).standard_normal((7, 3))
    np.testing.assert_allclose(
        es.FiniteArms(features).promises(thetas), (thetas @ features.T).max(axis=1)
    )
    for arms in (es.UnitBall(3), es.Box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0])):
        np.testing.assert_allclose(
            arms.promises(thetas), [arms.best(theta)[1] @ theta for theta in thetas]
        )


def test_an_oracle_is_asked_and_checked() -> None:
    arms = es.OracleArms(2, lambda theta: [1.0, 0.0] if theta[0] > theta[1] else [0.0, 1.0])
    assert arms.best(np.array([0.0, 1.0]))[1].tolist() == [0, 1]
    for answer in ([1.0], [1.0, np.nan], None, "x", [[1.0, 0.0]]):
        with pytest.raises(es.InvalidArgument, match=r"^best\(theta\) = "):
            es.OracleArms(2, lambda theta, answer=answer: answer).best(np.zeros(2))


def test_an_oracle_cannot_change_the_model() -> None:
    theta = np.ones(2)

    def spoil(given: np.ndarray) -> np.ndarray:
        given[:] = 0.0
        return np.ones(2)

    es.OracleArms(2, spoil).best(theta)
    assert theta.tolist() == [1, 1]


@pytest.mark.parametrize("place", [0, 17, -1])
@pytest.mark.parametrize("count", [1, 3, 5000, 5001])
def test_features_are_finite_and_at_most_the_largest(count: int, place: int) -> None:
    features = np.ones((count, 2))
    for fine in (1e49, -1e60, 1e100, -1e100):
        features.flat[min(place, count)] = fine
        assert (es.FiniteArms(features).rows == features).all()
    for wrong in (1.01e100, -1e101, 1e308, np.inf, -np.inf, np.nan):
        features.flat[min(place, count)] = wrong
        with pytest.raises(es.InvalidArgument, match=r"^features = .*at most 1e\+100"):
            es.FiniteArms(features)


def test_features_are_copied_and_frozen() -> None:
    features = np.eye(2)
    arms = es.FiniteArms(features)
    features[0, 0] = 9.0
    assert arms.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        arms.features[0, 0] = 2.0


def test_largest_norms() -> None:
    assert es.FiniteArms([[3.0, 4.0], [1.0, 0.0]]).largest_norm == 5.0
    assert es.UnitBall(3).largest_norm == 1.0
    assert es.Box([-2, 0], [1, 1]).largest_norm == pytest.approx(5**0.5)
    assert es.OracleArms(1, lambda theta: theta).largest_norm is None


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        *(
            (lambda bad=bad: es.FiniteArms(bad), "features")
            for bad in ([], [[]], [1.0, 2.0], [[1.0, float("nan")]])
        ),
        *(
            (lambda bad=bad: es.FiniteArms(bad), "features")
            for bad in ([[1.0], [1.0, 2.0]], [["a"]], None, np.zeros((0, 3)))
        ),
        *(
            (lambda bad=bad: es.FiniteArms(bad), "features")
            for bad in ([[float("inf")]], [[1e200]], [[1j]], np.zeros((2, 2, 2)))
        ),
        *((lambda bad=bad: es.UnitBall(bad), "dim") for bad in (0, -1, 1.5, "3", None, True)),
        *((lambda bad=bad: es.ChangingArms(bad), "dim") for bad in (0, 2.5)),
        (lambda: es.Box([0, 0], [1]), "high"),
        (lambda: es.Box([0, 2], [1, 1]), "high"),
        (lambda: es.Box([], []), "low"),
        (lambda: es.Box([0, float("nan")], [1, 1]), "low"),
        (lambda: es.OracleArms(2, "best"), "best"),
        (lambda: es.OracleArms(0, lambda theta: theta), "dim"),
    ],
)
def test_bad_arms_are_named(make, argument: str) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        make()
    assert caught.value.argument == argument


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_arms_cannot_be_changed_also_after_a_copy(count: int) -> None:
    arms = es.FiniteArms(np.random.default_rng(0).standard_normal((count, 2)))
    for found in (arms, pickle.loads(pickle.dumps(arms)), copy.deepcopy(arms)):
        np.testing.assert_array_equal(found.features, arms.features)
        np.testing.assert_array_equal(found.by_coordinate, arms.features.T)
        np.testing.assert_array_equal(found.each[count - 1], arms.features[count - 1])
        decision = es.EnsembleSampling(size=3).start(found).decide()
        for part in (found.features, found.by_coordinate, found.each[0], decision.features):
            assert not part.flags.writeable
            with pytest.raises(ValueError):
                part[0] = 1.0
    assert len(pickle.dumps(arms)) < 16 * count + 500
