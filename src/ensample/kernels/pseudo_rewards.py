"""Regression on rewards and pseudo-rewards together, and which arms must be played before it can begin."""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import invert
from ensample.kernels.rows import add_outer
from ensample.types import CountArray, FloatArray, IntArray

__all__ = ["mixed_inverse", "pseudo_count", "unplayed"]


@kernel
def unplayed(basis: IntArray, pulls: IntArray | CountArray, t: int) -> int:
    """An arm of the basis that has no reward yet, in turn; -1 if there is none."""
    waiting = basis[pulls[basis] == 0]
    return waiting[t % waiting.size] if waiting.size > 0 else -1


@kernel
def pseudo_count(a: float, n: int) -> int:
    """ceil(a n): the pseudo-rewards of an arm with n rewards."""
    return int(np.ceil(a * n))


@kernel
def mixed_inverse(rows: FloatArray, pulls: IntArray | CountArray, a: float, lam: float) -> FloatArray:
    """G^-1 with G = (a + 1) lam I + sum_k (N_k + ceil(a N_k)) x_k x_k': [d, d]; empty if G is singular to working precision."""
    d = rows.shape[1]
    gram = np.zeros((d, d))
    for i in range(d):
        gram[i, i] = (a + 1.0) * lam
    for k in range(rows.shape[0]):
        if pulls[k] > 0:
            add_outer(gram, float(pulls[k] + pseudo_count(a, pulls[k])), rows[k], rows[k])
    return invert(gram)
