"""Statistics of a cell's runs: intervals, the theorem's bound, and runs that are stuck."""

import math

import numpy as np

from ensample.errors import AssumptionError
from ensample.lab.cell import Cell
from ensample.problems import LinearProblem, example_of, setting_of
from ensample.statistics import CONFIDENCE, half_width
from ensample.theory import Guarantee
from ensample.types import BoolArray, FloatArray

RESAMPLES = 2000  # of the bootstrap of slopes
LATE_SHARE = 0.5  # of the rounds, the last, in which a run may be stuck
MIN_STRETCHES = 4  # between checkpoints that it takes to tell
SAME_RATE = 1e-6  # relative difference of rates that rounding explains


def mean_interval(values: FloatArray) -> tuple[float, float, float]:
    """Return (mean, low, high) by Student's t; NaN for the ends of a single value.

    The interval covers about CONFIDENCE of the time, less where a few runs carry the mean.
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = float(half_width(values))
    return mean, mean - half, mean + half


def slope_interval(
    x: FloatArray, columns: list[FloatArray], paired: bool
) -> tuple[float, float, float]:
    """Return (slope, low, high) of log mean(column) against log x, by a bootstrap over the runs.

    `paired` columns share their runs, which are then drawn together.
    """
    rng = np.random.default_rng(0)
    centred = np.log(x) - np.log(x).mean()
    means = [np.array([column.mean() for column in columns])]
    shares = [resampled_weights(rng, len(column)) for column in columns[: 1 if paired else None]]
    for place, column in enumerate(columns):
        means.append(shares[0 if paired else place] @ column)
    resampled = np.stack(means[1:], axis=1)  # [RESAMPLES, axis]
    if min(resampled.min(), means[0].min()) <= 0.0:
        return math.nan, math.nan, math.nan
    slopes = np.log(np.vstack([means[0], resampled])) @ centred / (centred @ centred)
    tail = (1.0 - CONFIDENCE) / 2.0
    return float(slopes[0]), *np.quantile(slopes[1:], [tail, 1.0 - tail]).tolist()


def resampled_weights(rng: np.random.Generator, runs: int) -> FloatArray:
    """Return the weight of each run in each resample: [RESAMPLES, runs]."""
    return rng.multinomial(runs, np.full(runs, 1.0 / runs), RESAMPLES) / runs


def guarantee_of(cell: Cell) -> Guarantee | None:
    """Return the guarantee of the recipe's theorem, if its setting covers problem and horizon.

    None where rounds are forced, observations are given or the truth moves: the theorems are about
    algorithms that choose from the start, on one problem.
    """
    setting, problem = cell.recipe.setting, example_of(cell.family)
    if setting is None or problem.moves:
        return None
    if isinstance(problem, LinearProblem) and (len(problem.warmup) or len(problem.opening)):
        return None
    if not setting.covers(setting_of(cell.family, cell.horizon)):
        return None
    try:
        return cell.recipe.guarantee(setting)
    except AssumptionError:
        return None


def stuck_runs(checkpoints: list[int], regret: FloatArray) -> BoolArray:
    """Return which runs lose the same in every round of the last half: [runs, C] to [runs].

    Regret is a sum of the means' gaps. Where it grows at one rate above 0, one wrong arm is played
    all the time (or several that are equally bad): a policy that still explores plays others now
    and then, and one that has learned loses nothing.

    >>> steady = np.arange(1.0, 11.0)  # rounds 10, 20, ... of a gap of 0.1
    >>> regret = np.array([steady, np.sqrt(steady), np.minimum(steady, 5.0)])
    >>> stuck_runs(list(range(10, 101, 10)), regret).tolist()
    [True, False, False]
    """
    rounds = np.array(checkpoints, float)
    late = np.flatnonzero(rounds >= LATE_SHARE * rounds[-1])
    if late.size <= MIN_STRETCHES:
        return np.zeros(len(regret), bool)
    rates = np.diff(regret[:, late], axis=1) / np.diff(rounds[late])
    low, high = rates.min(axis=1), rates.max(axis=1)
    return np.asarray((low > 0.0) & (high - low <= SAME_RATE * high))
