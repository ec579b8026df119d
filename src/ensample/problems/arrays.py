"""Problems as arrays, for the compiled core (cpp/simulate/state.hpp)."""

from typing import NamedTuple

import numpy as np

from ensample.memory import aligned
from ensample.types import FloatArray, IntArray


class FiniteProblem(NamedTuple):
    """Problem with finitely many arms.

    Rows of `features` past K are observed in the warm-up only.
    """

    features: FloatArray  # [K + W, d]
    by_coordinate: FloatArray  # [d, K]
    means: FloatArray  # [K + W]
    spreads: FloatArray  # [K + W] standard deviation of the noise
    noise: int  # NORMAL_NOISE to SALE_NOISE of `problems.noise`
    best: float  # the largest mean on offer
    warmup: IntArray  # rows of `features` observed before the first round
    opening: IntArray  # arms that the first rounds must play
    mean_path: FloatArray  # means of a truth that moves, one row a period [P, K]
    best_means: FloatArray  # the largest of each [P]
    period: int  # rounds in a row of `mean_path`; 0 if the truth does not move


class ContextualProblem(NamedTuple):
    """Problem with arms that change every round, or the unit ball."""

    theta: FloatArray  # [d]
    offered: int  # arms a round, unit vectors in random directions; 0: the unit ball
    noise: int  # NORMAL_NOISE to SALE_NOISE of `problems.noise`
    low: float  # of the noise's spread, as in `spread_at`
    high: float
    link: int = -1  # of the means; -1: they are linear
    constant: bool = False  # whether the last feature is 1, and the unit vectors are of the others


def with_constant(problem: FiniteProblem) -> FiniteProblem:
    """Add a last feature that is 1, and 0 in `by_coordinate`.

    It does not matter to the choice among arms.
    """
    d, arms = problem.by_coordinate.shape
    (by_coordinate,) = aligned((d + 1, arms))
    by_coordinate[:d] = problem.by_coordinate
    features = np.hstack([problem.features, np.ones((len(problem.features), 1))])
    return problem._replace(features=features, by_coordinate=by_coordinate)
