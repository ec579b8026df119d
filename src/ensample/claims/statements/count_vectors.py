"""How many vectors of pull counts there are: the price of the union bound."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, log

from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import always_at_most, weakest


def counts(arms: int, horizon: int) -> int:
    """Vectors (N_1, ..., N_K) with sum at most T - 1."""
    return comb(horizon - 1 + arms, arms)


def sequences(arms: int, horizon: int) -> int:
    """Sequences of arms of length at most T - 1: what a union bound over histories would count."""
    return sum(arms**length for length in range(horizon))


def measure(scale: Scale, seed: int, count: Callable[[int, int], int] = counts) -> Judge:
    """log count / log T^K over a grid, compared as whole numbers; for small K and T also by counting one by one."""
    largest = scale.choose(60, 200, 600)
    grid = [(K, T) for K in range(1, 41) for T in range(2, largest + 1)]
    numbers = {(K, T): count(K, T) for K, T in grid}
    differ = sum(enumerated(K, T) != counts(K, T) for K in range(1, 5) for T in range(1, 9))

    def judge(f: float) -> Outcome:
        factor = Fraction(f)  # whole numbers of any size are compared exactly
        above = [(K, T) for K, T in grid if factor * numbers[K, T] > T**K]
        ratio = max((log(f) + log(numbers[K, T])) / (K * log(T)) for K, T in grid)
        compared = always_at_most(
            ratio, 1.0, len(grid), f"{len(above)} of {len(grid):,} pairs (K, T) above T^K"
        )
        exactly = always_at_most(len(above), 0.0, len(grid))
        formula = always_at_most(
            differ, 0.0, 32, "formula checked by enumeration for K <= 4, T <= 8"
        )
        return weakest([compared, exactly, formula])

    return judge


def enumerated(arms: int, horizon: int) -> int:
    return sum(sum(vector) <= horizon - 1 for vector in product(range(horizon), repeat=arms))


CLAIM = Claim(
    id="count-vectors",
    title="The number of pull counts",
    statement="before round T there are C(T-1+K, K) vectors of pull counts, at most T^K",
    latex=r"\Big|\bigcup_{t=0}^{T-1}\mathbb{X}_t\Big| = \binom{T-1+K}{K} \le T^K",
    reference="prop:optimism",
    section=Section.OPTIMISM,
    assumptions=("K arms, T rounds",),
    kind=Kind.INEQUALITY,
    faults=(Fault("the number of counts multiplied by f", measure),),
    broken=Broken(
        "sequences of arms counted, in place of pull counts",
        lambda scale, seed: measure(scale, seed, sequences)(SOUND),
    ),
    note="Counting sequences, about K^T of them, would ask for an ensemble that grows with T; counts ask for K log T.",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.3), Scale.PAPER: Cost(2)},
)
