"""Which member acts, where that does not depend on the estimates."""

from numpy.random import Generator

from ensample.kernels.compile import embedded

__all__ = ["EVERY_ROUND", "IN_TURN", "next_member"]

IN_TURN, EVERY_ROUND = 0, 1  # values of `stay`


@embedded
def next_member(t: int, size: int, stay: int, last: int, rng: Generator) -> int:
    """A member at random that stays for `stay` rounds, or member t mod m. `last` is -1 in the first round."""
    if stay == IN_TURN:
        return t % size
    if last < 0 or t % stay == 0:
        return int(rng.random() * size)
    return last
