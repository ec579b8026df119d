"""Who acts when, drawn ahead, against the members of one round after the other."""

import numpy as np
import pytest

from ensample.kernels.ahead import many_once, places_ahead
from ensample.kernels.draws import GAUSSIAN_LAW, Law, Laws
from ensample.kernels.turns import EVERY_ROUND, IN_TURN, Ensemble, next_member
from naive.lazy import places

LAWS = Laws(Law(GAUSSIAN_LAW, 1, 1.0), Law(GAUSSIAN_LAW, 1, 1.0))


def one_by_one(ensemble: Ensemble, first: int, horizon: int, seed: int) -> list[int]:
    rng, members = np.random.default_rng(seed), [-1]
    for t in range(first, horizon):
        members.append(next_member.py_func(ensemble, t, members[-1], rng))
    return members[1:]


@pytest.mark.parametrize("stay", [EVERY_ROUND, IN_TURN, 4])
@pytest.mark.parametrize(
    ("size", "first", "horizon"), [(1, 0, 5), (40, 0, 60), (60, 7, 60), (1000, 0, 60), (9, 60, 60), (5, 0, 1)]
)
def test_places_are_those_of_the_same_members(stay: int, size: int, first: int, horizon: int) -> None:
    ensemble = Ensemble(size, stay, LAWS)
    found, count = places_ahead(ensemble, first, horizon, np.random.default_rng(3))
    expected = places(one_by_one(ensemble, first, horizon, 3))
    assert (found[first:].tolist(), count) == expected


def test_other_members_have_other_places() -> None:
    """Negative control."""
    found, _ = places_ahead(Ensemble(40, EVERY_ROUND, LAWS), 0, 60, np.random.default_rng(3))
    assert found.tolist() != places(one_by_one(Ensemble(40, EVERY_ROUND, LAWS), 0, 60, 4))[0]


def test_it_is_worth_it_where_many_act_once() -> None:
    """Of those that act, x / (e^x - 1) do so once where there are x rounds for each member."""
    for size, worth in ((29_000, True), (3_334, True), (3_333, False), (100, False)):
        assert many_once.py_func(Ensemble(size, EVERY_ROUND, LAWS), 10_000) == worth
        rounds = 10_000 / size
        assert (rounds / np.expm1(rounds) > 3.0 / np.expm1(3.0)) == worth, "a sixth"
