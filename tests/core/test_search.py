"""The search over arms finds the arm that NumPy finds by scoring all of them, at every level."""

from functools import partial

import numpy as np
import pytest

from ensample import _core

TILE = 64  # arms whose codes are stored together


def scores_of(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sums over coordinates in order."""
    total = np.zeros(len(rows))
    for i, weight in enumerate(theta):
        total += weight * rows[:, i]
    return total


def encoded(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table, codes = np.zeros((4, rows.shape[1])), np.zeros(_core.size_of_codes(rows), np.uint8)
    _core.encode_arms(rows, table, codes)
    return table, codes


@pytest.mark.parametrize("arms", [1, 7, TILE, TILE + 1, 9 * TILE - 3])
@pytest.mark.parametrize("dim", [1, 2, 5, 32, 33])
def test_every_search_finds_the_first_of_the_best(level: str, arms: int, dim: int) -> None:
    rng = np.random.default_rng(dim)
    for digits in (0, 16):  # many ties, and none
        rows, thetas = (
            np.round(rng.standard_normal((arms, dim)), digits),
            np.round(rng.standard_normal((dim, 20)), digits),
        )
        by_coordinate, columns = (
            np.ascontiguousarray(rows.T),
            [column.copy() for column in thetas.T],
        )
        known = encoded(rows)
        expected = [int(np.argmax(scores_of(rows, theta))) for theta in columns]
        assert [_core.scan_arms(rows, theta) for theta in columns] == expected
        assert [_core.find_best_arm(rows, *known, theta) for theta in columns] == expected
        assert [_core.greedy_arm(theta, by_coordinate) for theta in columns] == expected
        for call in (
            partial(_core.find_best_arms, rows, *known, thetas),
            partial(_core.greedy_arms, thetas, by_coordinate),
        ):
            chosen, scores = np.zeros(20, np.int64), np.zeros(20)
            call(chosen, scores)
            assert chosen.tolist() == expected
            assert scores.tolist() == [scores_of(rows, theta).max() for theta in columns]


def test_codes_are_features_to_a_sixteenth_of_their_range(level: str) -> None:
    rows = np.random.default_rng(1).standard_normal((200, 5))
    table, codes = encoded(rows)
    lanes = codes.reshape(
        -1, 4, TILE // 2, 2
    )  # words whose lower bytes are the first half of a tile
    codes_of_pairs = lanes.transpose(1, 0, 3, 2).reshape(4, -1)[:, :200]
    found = np.empty((5, 200))
    found[0::2], found[1::2] = codes_of_pairs[:3] & 15, (codes_of_pairs[:3] >> 4)[:2]
    centre, step = table[0][:, None], table[1][:, None]
    rest = (rows.T - (centre + step * (found - 8))) / step
    np.testing.assert_allclose(table[1], np.ptp(rows, axis=0) / 15)
    assert np.abs(rest).max() <= 0.5 + 1e-12
    radius_step = np.sqrt(5) / 2 / 254
    length = np.linalg.norm(rest, axis=0)
    assert (
        (length <= codes_of_pairs[3] * radius_step)
        & (codes_of_pairs[3] * radius_step < length + 1.01 * radius_step)
    ).all()


def test_codes_of_other_arms_are_no_fault(level: str) -> None:
    """Codes that belong to other arms give some arm, and no read outside the arrays."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        rows = rng.standard_normal((100, 3)) * rng.choice([1.0, np.nan, np.inf, 1e300])
        table = rng.standard_normal((4, 3)) * 10.0 ** rng.integers(-300, 300, (4, 3))
        codes = rng.integers(0, 256, _core.size_of_codes(rows)).astype(np.uint8)
        assert 0 <= _core.find_best_arm(rows, table, codes, rng.standard_normal(3)) < 100
