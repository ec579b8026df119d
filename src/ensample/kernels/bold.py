"""Which rounds are bold (`ensample.calibration`): a function of their number alone."""

import numpy as np

from ensample.kernels.compile import borrowing, embedded
from ensample.kernels.track import Tally

__all__ = ["BOLD_ROUNDS", "SPACING", "is_bold", "next_bold"]

SPACING = 1.25  # of the numbers of rounds from one bold round to the next
LAST = 2.0**53  # beyond which rounds are not counted exactly


def bold_after(round: float) -> float:
    """The bold round after one of them."""
    return max(round + 1.0, np.ceil(SPACING * round))


next_bold = embedded(bold_after)


@borrowing
def is_bold(tally: Tally) -> bool:
    """Whether the coming round of a simulated run is one: its rewards are prompt, and their count is its number.

    The next of them is kept at hand. A call, as few recipes ask: compiled into all of them it made rounds of known scales 8%
    slower.
    """
    while tally.bold < tally.count:
        tally.bold = next_bold(tally.bold)
    return tally.bold == tally.count


def bold_rounds() -> frozenset[int]:
    """The numbers of all of them, by Python: an import compiles nothing."""
    rounds = [1.0]
    while rounds[-1] < LAST:
        rounds.append(bold_after(rounds[-1]))
    return frozenset(map(int, rounds))


BOLD_ROUNDS = bold_rounds()
