"""Functions of the core against mpmath, and its random numbers against NumPy's."""

import math
from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest

from ensample import _core

RECENT = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
"""NumPy 2.5 corrected Stirling's formula for binomials: it changes one draw in 10,000."""
FUNCTIONS = ("exp", "expm1", "log", "log1p", "log2", "tanh")
ALLOWED = {"exp": 0.52, "expm1": 0.7, "log": 0.52, "log1p": 0.7, "log2": 0.52, "tanh": 1.8}
"""Largest error in units in the last place."""


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Restore the instruction-set level after each test."""
    before = _core.level()
    yield
    _core.use_level(before)


def value(name: str, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    _core.evaluate(name, x, out)
    return out


def arguments(name: str, count: int) -> np.ndarray:
    """Return arguments of all sizes, of both signs where the function has both."""
    rng = np.random.default_rng(1)
    sizes = (
        np.exp2(rng.uniform(-60.0, 9.4, count))
        if name in ("exp", "expm1")
        else np.exp2(rng.uniform(-60.0, 60.0, count))
    )
    signed = sizes * np.where(rng.random(count) < 0.5, -1.0, 1.0)
    ordinary = rng.normal(size=count)
    if name in ("log", "log2"):
        return np.concatenate(
            [sizes, 1.0 + 0.1 * ordinary, np.exp2(rng.uniform(-1020.0, 1020.0, count))]
        )
    if name == "log1p":
        return np.concatenate(
            [sizes, -rng.random(count), 0.1 * ordinary, np.exp2(rng.uniform(-300.0, 1020.0, count))]
        )
    return np.concatenate([signed, ordinary, 0.05 * ordinary])


def error(name: str, x: float, found: float) -> float:
    """Return the error of a value in units in the last place."""
    exact = mpmath.log(mpmath.mpf(x), 2) if name == "log2" else getattr(mpmath, name)(mpmath.mpf(x))
    return abs(float((mpmath.mpf(found) - exact) / math.ulp(float(exact))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_below_what_is_promised(name: str) -> None:
    x = arguments(name, 4000)
    with mpmath.workprec(200):
        errors = [
            error(name, *pair) for pair in zip(x.tolist(), value(name, x).tolist(), strict=True)
        ]
    worst = int(np.argmax(errors))
    assert errors[worst] <= ALLOWED[name], f"{errors[worst]:.3f} at {x[worst]!r}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_levels_give_the_same_bits(name: str) -> None:
    x = arguments(name, 20_000)
    found = set()
    for level in _core.levels():
        _core.use_level(level)
        found.add(value(name, x).tobytes())
    assert len(found) == 1


LIMITS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], list[float]]] = {
    "exp": (
        np.exp,
        [0.0, -0.0, 709.7, 709.79, 1e4, -745.0, -746.0, -1e4, math.inf, -math.inf, math.nan, 1.0],
    ),
    "expm1": (
        np.expm1,
        [0.0, 709.7, 709.79, 1e4, -39.0, -41.0, -1e4, math.inf, -math.inf, math.nan, 5e-324],
    ),
    "log": (np.log, [1.0, 0.0, -0.0, -1.0, 5e-324, 2e-308, 1.7e308, math.inf, -math.inf, math.nan]),
    "log1p": (np.log1p, [0.0, -1.0, -2.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan]),
    "log2": (
        np.log2,
        [1.0, 8.0, 0.0, -0.0, -1.0, 5e-324, 2e-308, 1.7e308, math.inf, -math.inf, math.nan],
    ),
    "tanh": (np.tanh, [0.0, -0.0, 19.0, 400.0, -400.0, math.inf, -math.inf, math.nan]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_limits_are_those_of_numpy(name: str) -> None:
    function, at = LIMITS[name]
    x = np.array(at)
    np.testing.assert_array_almost_equal_nulp(
        np.nan_to_num(value(name, x), nan=-7.0), np.nan_to_num(function(x), nan=-7.0), 2
    )


def test_logarithms_of_powers_of_two_are_whole() -> None:
    powers = np.arange(-1074.0, 1024.0)
    assert (value("log2", np.ldexp(1.0, powers.astype(int))) == powers).all()


# --- Random numbers ------------------------------------------------------------------------------


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
