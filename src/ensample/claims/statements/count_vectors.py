"""How many vectors of pull counts there are: the price of the union bound."""

from collections.abc import Callable
from itertools import product
from math import comb, log

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most, weakest

__all__ = ["CLAIM"]


def counts(arms: int, horizon: int) -> int:
    """Vectors (N_1, ..., N_K) with sum at most T - 1."""
    return comb(horizon - 1 + arms, arms)


def sequences(arms: int, horizon: int) -> int:
    """Sequences of arms of length at most T - 1: what a union bound over histories would count."""
    return sum(arms**length for length in range(horizon))


def check(scale: Scale, seed: int, count: Callable[[int, int], int] = counts) -> Outcome:
    """log count / log T^K over a grid, compared as whole numbers; for small K and T also by counting one by one."""
    largest = scale.choose(60, 200, 600)
    grid = [(K, T) for K in range(1, 41) for T in range(2, largest + 1)]
    above = [(K, T) for K, T in grid if count(K, T) > T**K]
    ratio = max(log(count(K, T)) / (K * log(T)) for K, T in grid)
    compared = always_at_most(ratio, 1.0, len(grid), f"{len(above)} of {len(grid):,} pairs (K, T) above T^K")
    exactly = always_at_most(len(above), 0.0, len(grid))
    differ = sum(enumerated(K, T) != counts(K, T) for K in range(1, 5) for T in range(1, 9))
    return weakest([compared, exactly, always_at_most(differ, 0.0, 32, "formula checked by enumeration for K <= 4, T <= 8")])


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
    check=check,
    broken=Broken("sequences of arms counted, in place of pull counts", lambda scale, seed: check(scale, seed, sequences)),
    note="Counting sequences, about K^T of them, would ask for an ensemble that grows with T; counts ask for K log T.",
    costs={Scale.QUICK: Cost(0.1), Scale.STANDARD: Cost(0.3), Scale.PAPER: Cost(2)},
)
