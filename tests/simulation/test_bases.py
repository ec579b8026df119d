"""Where new members of a lazy ensemble start: N(0, prior + sum_k N_k x_k x_k'), as long as rounding keeps the prior."""

import numpy as np
import pytest

import ensample as es
from ensample.kernels.track import Room, Track, new_track
from ensample.kernels.world import World
from ensample.simulation.algorithms.lazy import SMALLEST_SHARE, WALK, WHOLE, Bases, first_bases, is_due, move_base

X = np.array([[1.0, 0.2], [0.6, 0.8], [-0.3, 1.1]])
SIZES = np.sqrt((X**2).mean(axis=0))
COUNTS = np.array([5, 0, 40])


def played(learned: bool, lam: float = 2.0) -> tuple[World, Track, Bases]:
    """COUNTS pulls later, with the prior lam s_i^2 learned meanwhile, or W of half the variance of Z."""
    world = es.LinearProblem(es.FiniteArms(X), [0.5, 0.0], 0.3).place()
    learning = (SIZES, 0.0, False) if learned else None
    track = new_track(Room(2, 3, 3), 1.0, np.array([200]), np.zeros(1, np.int64), learning)
    bases = first_bases(track, 1.0 if learned else 0.5)
    track.pulls[:3] = COUNTS
    if learned:
        track.prior[:] = lam * SIZES**2
        track.scales.asked[0] = COUNTS.sum()
    return world, track, bases


def law(bases: Bases, place: int) -> np.ndarray:
    return bases.root[place].T @ bases.root[place]


WALKED = (X.T * COUNTS) @ X


@pytest.mark.parametrize(
    ("learned", "place", "prior"),
    [(False, WHOLE, [0.5, 0.5]), (True, WHOLE, 2.0 * SIZES**2), (True, WALK, [0.0, 0.0])],
    ids=["given", "learned", "learned, apart"],
)
def test_a_base_has_the_law_of_the_moment(learned: bool, place: int, prior: list[float]) -> None:
    world, track, bases = played(learned)
    before = SIZES**2 if learned else [0.5, 0.5]
    np.testing.assert_allclose(law(bases, WHOLE), np.diag(before), rtol=1e-15)
    move_base(world, track, bases, place)
    np.testing.assert_allclose(law(bases, place), np.diag(prior) + WALKED, rtol=1e-14)
    np.testing.assert_array_equal(bases.counts[place], track.pulls)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(law(bases, place), np.diag(np.add(prior, 1e-3)) + WALKED, rtol=1e-14)


def test_it_is_laid_anew_when_the_prior_is_another() -> None:
    world, track, bases = played(True)
    assert is_due.py_func(track, bases, WHOLE)
    assert not is_due.py_func(track, bases, WALK), "there is no prior in it"
    move_base(world, track, bases, WHOLE)
    assert not is_due.py_func(track, bases, WHOLE)
    bases.paid[:] = 17
    assert is_due.py_func(track, bases, WHOLE)
    assert is_due.py_func(track, bases, WALK)
    _, track, bases = played(False)
    assert not is_due.py_func(track, bases, WHOLE), "nothing is learned"


@pytest.mark.parametrize(("share", "sound"), [(2.0, True), (0.5, False)])
def test_w_is_kept_apart_where_rounding_would_lose_it(share: float, sound: bool) -> None:
    lam = share * SMALLEST_SHARE * float((np.diag(WALKED) / SIZES**2).max())
    world, track, bases = played(True, lam)
    move_base(world, track, bases, WHOLE)
    assert bases.sound[0] == sound
    track.prior[:] = 1.0
    move_base(world, track, bases, WHOLE)
    assert bases.sound[0], "and again with W where the prior has grown"
