"""Runs that are stuck: they play one wrong arm in every round to the end."""

import numpy as np

from ensample.types import BoolArray, FloatArray

SHARE = 0.5  # of the rounds, the last, that are looked at
LEAST = 4  # stretches between checkpoints that it takes to tell
SAME = 1e-6  # rates that differ by less, relatively, are equal but for rounding


def stuck_runs(checkpoints: list[int], regret: FloatArray) -> BoolArray:
    """Which runs lose as much in every round of the last half: [runs, C] to [runs].

    Regret is a sum of the means' gaps. Where it grows at one rate above 0, one wrong arm is played all the time (or several
    that are equally bad): a policy that still explores plays others now and then, and one that has learned loses nothing.

    >>> steady = np.arange(1.0, 11.0)                                   # rounds 10, 20, ... of a gap of 0.1
    >>> stuck_runs(list(range(10, 101, 10)), np.array([steady, np.sqrt(steady), np.minimum(steady, 5.0)])).tolist()
    [True, False, False]
    """
    rounds = np.array(checkpoints, float)
    late = np.flatnonzero(rounds >= SHARE * rounds[-1])
    if late.size <= LEAST:
        return np.zeros(len(regret), bool)
    rates = np.diff(regret[:, late], axis=1) / np.diff(rounds[late])
    low, high = rates.min(axis=1), rates.max(axis=1)
    return np.asarray((low > 0.0) & (high - low <= SAME * high))
