"""When rounds are bold (`ensample.calibration`): a function of the number of observations alone."""

import numpy as np

from ensample.kernels.compile import borrowing, embedded
from ensample.kernels.track import Tally

__all__ = ["SPACING", "bold_counts", "is_bold", "next_bold"]

SPACING = 1.25  # of the numbers of observations from one bold round to the next
LAST = 2.0**53  # beyond which observations are not counted exactly


@embedded
def next_bold(count: float) -> float:
    """The number of observations at the bold round after that of `count`."""
    return max(count + 1.0, np.ceil(SPACING * count))


@borrowing
def is_bold(tally: Tally) -> bool:
    """Whether the coming round of a simulated run is one. The next of them is kept at hand.

    A call, as few recipes ask: compiled into all of them it made rounds of known scales 8% slower.
    """
    while tally.bold < tally.count:
        tally.bold = next_bold(tally.bold)
    return tally.bold == tally.count


def bold_counts() -> frozenset[float]:
    """The numbers of observations at all of them."""
    counts = [1.0]
    while counts[-1] < LAST:
        counts.append(next_bold(counts[-1]))
    return frozenset(counts)
