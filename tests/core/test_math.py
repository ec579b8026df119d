"""exp, log and their kin of the compiled core, against mpmath."""

import math
from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest

from ensample import _core

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


def test_out_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="argument `out`"):
        _core.evaluate("exp", np.zeros(3), np.zeros(2))
    with pytest.raises(TypeError):
        _core.evaluate("exp", np.zeros(3, np.float32), np.zeros(3))
