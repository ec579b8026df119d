"""An ensemble as kernels know it, and which member acts where that does not depend on the estimates."""

from typing import NamedTuple

from numpy.random import Generator

from ensample.kernels.compile import embedded
from ensample.kernels.draws import Laws

__all__ = ["EVERY_ROUND", "IN_TURN", "OPTIMISTIC", "Ensemble", "next_member"]

OPTIMISTIC, IN_TURN, EVERY_ROUND = -1, 0, 1  # values of `stay` with a name


class Ensemble(NamedTuple):
    """How many members there are, which of them acts, and the laws of their perturbations."""

    size: int
    stay: int  # rounds for which a member drawn at random stays; IN_TURN: member t mod m; OPTIMISTIC: who promises most
    laws: Laws


@embedded
def next_member(ensemble: Ensemble, t: int, last: int, rng: Generator) -> int:
    """The member of round t, whatever it promises; `last` is the one before, -1 in the first round."""
    if ensemble.stay == IN_TURN:
        return t % ensemble.size
    if last < 0 or t % ensemble.stay == 0:
        return int(rng.random() * ensemble.size)
    return last
