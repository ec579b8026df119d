"""When rounds are bold (`ensample.calibration`): a function of the number of observations alone."""

import numpy as np

from ensample.kernels.compile import embedded
from ensample.kernels.track import Tally

__all__ = ["SPACING", "bold_counts", "is_bold", "next_bold"]

SPACING = 1.25  # of the numbers of observations from one bold round to the next
LAST = 2.0**53  # beyond which observations are not counted exactly


@embedded
def next_bold(count: float) -> float:
    """The number of observations at the bold round after that of `count`."""
    return max(count + 1.0, np.ceil(SPACING * count))


@embedded
def is_bold(tally: Tally) -> bool:
    """Whether the coming round of a simulated run is one. The next of them is kept at hand."""
    while tally.bold < tally.count:
        tally.bold = next_bold(tally.bold)
    return tally.bold == tally.count


def bold_counts() -> frozenset[float]:
    """The numbers of observations at all of them."""
    counts = [1.0]
    while counts[-1] < LAST:
        counts.append(next_bold(counts[-1]))
    return frozenset(counts)
