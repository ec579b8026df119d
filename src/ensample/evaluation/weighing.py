"""Rows of a log, piece by piece, with the target's probabilities and the predicted rewards."""

import math
from collections.abc import Iterator

import numpy as np

from ensample.errors import InvalidArgument
from ensample.evaluation.cross_fitting import CrossFitting
from ensample.evaluation.estimators import weights_of
from ensample.evaluation.log import LoggedData, LogRows
from ensample.evaluation.options import EvaluationOptions, RewardModel
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.sums import WeighedRows
from ensample.evaluation.targets import LoggedTarget, Target
from ensample.types import FloatArray

LOOK_GROWTH = 8 / 7  # of the number of rows between two looks, and two fits of the reward model
FIRST_LOOK = 10
MOST_CELLS = 1 << 20  # rows x actions held at once, some twenty numbers each


class RowWeigher:
    """Target and reward model applied to a log; both learn from earlier rows only."""

    def __init__(
        self, data: LoggedData, target: Target, options: EvaluationOptions | None = None
    ) -> None:
        options = options or EvaluationOptions()
        self.data, self.target, self.given_model = data, target, options.reward_model
        size = len(data.summary.actions), len(data.contexts.names)
        self.model = ActionRidges(*size)
        self.cross_fitting = CrossFitting(*size, enabled=self.given_model is None)
        self.least, lowest = options.least_propensity, data.summary.lowest_propensity
        if self.least is not None and self.least > lowest:
            expected = f"at most {lowest:g}, a propensity of the log"
            raise InvalidArgument("least_propensity", self.least, expected)

    @property
    def by_choices(self) -> bool:
        """True if the target is the log's policy without propensities: every weight is 1."""
        return isinstance(self.target, LoggedTarget) and not self.data.has_all

    @property
    def has_all_bounds(self) -> bool:
        """True if every propensity is known, or a lower bound of it."""
        return self.data.has_all or self.least is not None or self.by_choices

    def weigh(self, rows: LogRows) -> WeighedRows:
        """Weigh the next rows, then let target and model learn from them."""
        if self.by_choices:
            rows = rows._replace(propensity=np.ones(len(rows.chosen)), propensities=rows.drawn)
        target = self.target.probabilities(rows)
        weights = weights_of(target, rows.chosen, rows.propensity)
        if self.given_model is None:
            predicted = self.model.predict(rows.contexts)
        else:
            predicted = self._predictions_of(self.given_model, rows)
        propensities = rows.propensities
        if propensities is None:  # a bound of 0 leaves the predictions out of the intervals
            propensities = np.full((len(rows.rewards), 1), self.least or 0.0)
        facts = rows.rewards, rows.chosen, weights, target, propensities, predicted
        weighed = WeighedRows(*facts)
        self.cross_fitting.add(rows, weighed)
        self.target.learn(rows)
        if self.given_model is None:
            self.model.add(rows.contexts, rows.chosen, rows.rewards)
            self.model.fit()
        return weighed

    def _predictions_of(self, model: RewardModel, rows: LogRows) -> FloatArray:
        """Return what a model of the user's predicts, as a share of the range of rewards."""
        given = np.asarray(model(rows.raw_contexts(), rows.names), dtype=np.float64)
        if given.shape != rows.offered.shape or not np.isfinite(given).all():
            expected = f"finite numbers of shape {rows.offered.shape}: rows by actions"
            raise InvalidArgument("reward_model(...)", given, expected)
        low, high = self.data.summary.low, self.data.summary.high
        return np.clip((given - low) / (high - low), 0.0, 1.0)


def pieces(count: int, actions: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of pieces, which end where the number of rows before says.

    >>> [stop for _, stop in pieces(100, 10)]
    [10, 12, 14, 16, 19, 22, 26, 30, 35, 40, 46, 53, 61, 70, 80, 92, 100]
    """
    chunk = max(MOST_CELLS // max(actions, 1), 256)
    start, look = 0, FIRST_LOOK
    while start < count:
        stop = min(look, start + chunk, count)
        yield start, stop
        if stop == look:
            look = max(look + 1, math.ceil(look * LOOK_GROWTH))
        start = stop
