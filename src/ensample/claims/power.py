"""The power of a check: the smallest fault that it refutes.

A claim that holds has been tested as sharply as the smallest fault its check would have noticed. A
fault has a size f: a bound divided by f, an ensemble of m/f members, perturbations times f. The
smallest f that is refuted is found by bisection, on a logarithmic scale of f - 1, since an identity
notices an error of 1e-9 and a bound on the regret perhaps none below 10.
"""

import math

from ensample.claims.claim import Claim, Judge, Scale, Verdict

BLUNT = 10.0
"""A claim that still holds with a fault of this size was not tested sharply."""

LEAST, SMALL = 1e-12, 1e-3  # of f - 1
STEP = 1.05  # f - 1 is found up to this factor


def is_sharp(judge: Judge) -> bool:
    """Return True if the statement no longer holds once it is spoiled tenfold.

    >>> from ensample.claims.evidence import always_at_most
    >>> [is_sharp(lambda f: always_at_most(worst, 1 / f, 1)) for worst in (0.3, 0.03)]
    [True, False]
    """
    return judge(BLUNT).verdict is not Verdict.HOLDS


def power(judge: Judge, largest: float) -> float | None:
    """The smallest f up to `largest` that is refuted, f - 1 up to five percent; None if none is.

    >>> from ensample.claims.evidence import always_at_most
    >>> print(f"{power(lambda f: always_at_most(0.5, 1 / f, 1), 100.0):.2g}")
    2
    >>> print(power(lambda f: always_at_most(0.001, 1 / f, 1), 100.0))
    None
    """

    def refuted(excess: float) -> bool:
        return judge(1.0 + excess).verdict is Verdict.REFUTED

    if not refuted(largest - 1.0):
        return None
    low, high = (LEAST, SMALL) if refuted(SMALL) else (SMALL, largest - 1.0)
    while high / low > STEP:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return 1.0 + high


def powers(
    claim: Claim, scale: Scale, seed: int, judge: Judge | None = None
) -> tuple[float | None, ...]:
    """Return the power for every family of faults; `judge` is that of the first, if known."""
    return tuple(
        power((judge if place == 0 and judge else fault.measure(scale, seed)), fault.largest)
        for place, fault in enumerate(claim.faults)
    )


def smallest(found: tuple[float | None, ...]) -> float | None:
    """Return the smallest power of all families: the sharpest test that the claim has passed."""
    return min((size for size in found if size is not None), default=None)
