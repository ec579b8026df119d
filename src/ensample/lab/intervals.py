"""Intervals for what a study measured: they cover about CONFIDENCE of the time, less where a few runs carry the mean."""

import math

import numpy as np

from ensample.statistics import CONFIDENCE, half_width
from ensample.types import FloatArray

RESAMPLES = 2000


def mean_interval(values: FloatArray) -> tuple[float, float, float]:
    """(mean, low, high) by Student's t; without width for a single value NaN."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = float(half_width(values))
    return mean, mean - half, mean + half


def slope_interval(
    x: FloatArray, columns: list[FloatArray], paired: bool
) -> tuple[float, float, float]:
    """(slope, low, high) of log mean(column) against log x, by a bootstrap over the runs.

    `paired` columns share their runs, which are then drawn together.
    """
    rng = np.random.default_rng(0)
    centred = np.log(x) - np.log(x).mean()
    means = [np.array([column.mean() for column in columns])]
    shares = [weights(rng, len(column)) for column in columns[: 1 if paired else None]]
    for place, column in enumerate(columns):
        means.append(shares[0 if paired else place] @ column)
    resampled = np.stack(means[1:], axis=1)  # [RESAMPLES, axis]
    if min(resampled.min(), means[0].min()) <= 0.0:
        return math.nan, math.nan, math.nan
    slopes = np.log(np.vstack([means[0], resampled])) @ centred / (centred @ centred)
    tail = (1.0 - CONFIDENCE) / 2.0
    return float(slopes[0]), *np.quantile(slopes[1:], [tail, 1.0 - tail]).tolist()


def weights(rng: np.random.Generator, runs: int) -> FloatArray:
    """How much each run counts in each resample: [RESAMPLES, runs]."""
    return rng.multinomial(runs, np.full(runs, 1.0 / runs), RESAMPLES) / runs
