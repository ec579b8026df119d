"""Random numbers that the compiled core draws, against NumPy's."""

from collections.abc import Iterator

import numpy as np
import pytest

from ensample import _core

RECENT = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
"""NumPy 2.5 corrected Stirling's formula for binomials: it changes one draw in 10,000."""


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Restore the instruction-set level after each test."""
    before = _core.level()
    yield
    _core.use_level(before)


def pair(
    bits: type[np.random.BitGenerator], seed: int = 0
) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.Generator(bits(seed)), np.random.Generator(bits(seed))


@pytest.mark.parametrize(
    "bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]
)
def test_uniform_numbers_are_those_of_numpy(bits: type[np.random.BitGenerator]) -> None:
    ours, theirs = pair(bits)
    out = np.empty(10_000)
    _core.draw_uniform(ours, out)
    assert (out == theirs.random(out.size)).all()


def test_normal_numbers_are_those_of_numpy_but_for_the_last_digit_in_the_tail() -> None:
    ours, theirs = pair(np.random.PCG64)
    out = np.empty(1_000_000)
    for _ in range(4):
        _core.draw_normal(ours, out)
        expected = theirs.standard_normal(out.size)
        differ = out != expected
        assert (np.abs(out[differ]) > 3.654).all() and differ.sum() < 1e-4 * out.size
        np.testing.assert_array_max_ulp(out, expected, 1)
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize(
    "trials", [0, 1, 2, 7, 59, 60, 61, 62, 100, 168, 169, 1000, 12_345, 10**6, 10**9, 2**40]
)
def test_binomial_numbers_are_those_of_numpy(trials: int) -> None:
    ours, theirs = pair(np.random.PCG64, trials)
    out = np.empty(1)
    draws = 20_000 if trials > 60 else 2_000
    differ = 0
    for _ in range(draws):
        _core.draw_binomial(ours, trials, out)
        if out[0] != theirs.binomial(trials, 0.5):
            differ += 1
            ours.bit_generator.state = theirs.bit_generator.state
    assert differ <= (5e-4 * draws if RECENT and trials > 168 else 0)


def test_all_levels_draw_the_same_bits() -> None:
    found = set()
    for level in _core.levels():
        _core.use_level(level)
        rng, out = np.random.default_rng(3), np.empty(20_000)
        drawn = []
        for draw in (_core.draw_uniform, _core.draw_normal):
            draw(rng, out)
            drawn.append(out.tobytes())
        for trials in (12, 500, 10**7):
            _core.draw_binomial(rng, trials, out)
            drawn.append(out.tobytes())
        found.add(b"".join(drawn))
    assert len(found) == 1


def test_what_is_no_generator_is_refused() -> None:
    for wrong in (None, 3, np.random.RandomState(0)):
        with pytest.raises((TypeError, ValueError), match="rng"):
            _core.draw_normal(wrong, np.empty(3))
    with pytest.raises(ValueError, match="trials"):
        _core.draw_binomial(np.random.default_rng(0), -1, np.empty(3))
