"""The root of one variable that an implicit step takes, against its equation in more digits."""

import numpy as np
import pytest

import ensample as es
from ensample import _core
from ensample.models.logistic import LOGISTIC_LINK

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
