"""SupLinUCB: ridge regressions by stage, the walk through them, and what a stage learns.

Stage s (from 1; from 0 in arrays) asks for widths of at most 2^-s. An arm that is wider is played for what its stage learns
from it. Where all are narrow enough, arms that promise too little are left behind and the next stage is asked.
"""

import numpy as np

from ensample.kernels.compile import kernel
from ensample.kernels.linucb import square_widths
from ensample.kernels.ridge import invert, observe
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.types import FloatArray

__all__ = ["feed", "learn_staged", "stage_of", "staged_arm"]


@kernel
def staged_arm(
    inverses: FloatArray, means: FloatArray, by_coordinate: FloatArray, radius: float, floor: float
) -> tuple[int, int]:
    """(arm, stage) of a round.

    Where all arms that are left in stage s are known well the one that it finds most promising is played, no stage learns from
    it, and -1 - s is said in place of s.

    inverses: V^-1 of each stage [S, d, d]; means: theta_hat [S, d]; by_coordinate: [d, K]; floor: 1/sqrt(T).
    """
    arms = by_coordinate.shape[1]
    left = np.ones(arms, np.bool_)
    widths, promises = np.empty(arms), np.empty(arms)
    best, s = 0, 0
    for s in range(means.shape[0]):
        square_widths(inverses[s], by_coordinate, widths)
        sum_rows(promises, by_coordinate, means[s])
        best, widest = -1, -1
        for k in range(arms):
            if left[k]:
                widths[k] = radius * np.sqrt(max(widths[k], 0.0))
                promises[k] += widths[k]
                best = k if best < 0 or promises[k] > promises[best] else best
                widest = k if widest < 0 or widths[k] > widths[widest] else widest
        level = 0.5 ** (s + 1)
        if widths[widest] <= floor:
            break
        if widths[widest] > level:
            return widest, s
        least = promises[best] - 2.0 * level
        for k in range(arms):
            left[k] = left[k] and promises[k] >= least
    return best, -1 - s


@kernel
def stage_of(inverses: FloatArray, x: FloatArray, radius: float, floor: float) -> int:
    """The first stage for which x is too wide; -1 if there is none."""
    gain = np.empty(x.size)
    for s in range(inverses.shape[0]):
        sum_rows(gain, inverses[s], x)
        if radius * np.sqrt(max(dot(gain, x), 0.0)) > max(0.5 ** (s + 1), floor):
            return s
    return -1


@kernel
def feed(gram: FloatArray, inverse: FloatArray, target: FloatArray, mean: FloatArray, x: FloatArray, y: float) -> None:
    """One stage learns: V += x x', b += x y, and V^-1 and theta_hat anew."""
    gain = np.empty(x.size)
    sum_rows(gain, inverse, x)
    add_outer(inverse, -1.0 / (1.0 + dot(gain, x)), gain, gain)
    add_outer(gram, 1.0, x, x)
    axpy(target, y, x)
    fresh = invert(gram)
    if fresh.size > 0:  # else V is singular to working precision, and the rank-one formula must do
        for i in range(x.size):
            for k in range(x.size):
                inverse[i, k] = fresh[i, k]
    sum_rows(mean, inverse, target)


@kernel
def learn_staged(
    state: FloatArray,
    grams: FloatArray,
    inverses: FloatArray,
    targets: FloatArray,
    means: FloatArray,
    by_coordinate: FloatArray,
    arm: int,
    x: FloatArray,
    y: float,
    radius: float,
    floor: float,
) -> None:
    """What a live policy observes goes to the stage for which its arm would be played now, or to the first that needs it."""
    played, stage = staged_arm(inverses, means, by_coordinate, radius, floor)
    if played != arm:
        stage = stage_of(inverses, x, radius, floor)
    if stage >= 0:
        feed(grams[stage], inverses[stage], targets[stage], means[stage], x, y)
    observe(state, x, y)
