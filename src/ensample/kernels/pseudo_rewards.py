"""Which arms LinPHE with pseudo-rewards must play first."""

from ensample.kernels.compile import kernel
from ensample.types import CountArray, IntArray

__all__ = ["unplayed"]


@kernel
def unplayed(basis: IntArray, pulls: IntArray | CountArray, t: int) -> int:
    """An arm of the basis that has no reward yet, in turn; -1 if there is none."""
    waiting = basis[pulls[basis] == 0]
    return waiting[t % waiting.size] if waiting.size > 0 else -1
