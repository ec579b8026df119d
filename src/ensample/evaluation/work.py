"""The rows of a log, one piece after the other, with what the target and the model of rewards make of them."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ensample.checks import number
from ensample.errors import InvalidArgument, WrongType
from ensample.evaluation.estimators import weights_of
from ensample.evaluation.folds import Folds
from ensample.evaluation.logged import LoggedData, LogRows
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.tally import Weighed
from ensample.evaluation.targets import LoggedTarget, Target
from ensample.types import FloatArray

LOOK_GROWTH = 8 / 7  # of the rows between two looks, and two fits of the reward model
FIRST_LOOK = 10
MOST_CELLS = 1 << 20  # rows x actions held at once, some twenty numbers each


class EvaluationWork:
    """The rows of a log, one piece after the other, with what the target and the model of rewards make of them."""

    def __init__(
        self,
        data: LoggedData,
        target: Target,
        least_propensity: float | None = None,
        reward_model: Callable[[list[Any], list[str]], Any] | None = None,
    ) -> None:
        self.data, self.target, self.given = data, target, reward_model
        if reward_model is not None and not callable(reward_model):
            raise WrongType(
                "reward_model", reward_model, "a function of (contexts, names of actions), or None"
            )
        size = len(data.names), len(data.contexts.names)
        self.model, self.folds = ActionRidges(*size), Folds(*size, used=reward_model is None)
        self.least = (
            None
            if least_propensity is None
            else number("least_propensity", least_propensity, 0.0, 1.0, above=0.0)
        )
        if self.least is not None and self.least > data.rarest:
            raise InvalidArgument(
                "least_propensity", self.least, f"at most {data.rarest:g}, a propensity of the log"
            )

    @property
    def knows_all(self) -> bool:
        """Whether every propensity is known, or what it is no smaller than."""
        return self.data.has_all or self.least is not None or self.by_choices

    @property
    def by_choices(self) -> bool:
        """Whether nothing is asked but what the log earned, which its choices say: their weights are 1 whatever they are."""
        return isinstance(self.target, LoggedTarget) and not self.data.has_all

    def weigh(self, rows: LogRows) -> Weighed:
        """What target and model make of the next rows."""
        if self.by_choices:
            rows = rows._replace(propensity=np.ones(len(rows.chosen)), propensities=rows.drawn)
        target = self.target.probabilities(rows)
        weights = weights_of(target, rows.chosen, rows.propensity)
        predicted = (
            self.model.predict(rows.contexts) if self.given is None else self.told(rows, self.given)
        )
        weighed = Weighed(
            rows.rewards, rows.chosen, weights, target, self.propensities(rows), predicted
        )
        self.folds.add(rows, weighed)
        self.target.learn(rows)
        if self.given is None:
            self.model.add(rows.contexts, rows.chosen, rows.rewards)
            self.model.fit()
        return weighed

    def told(self, rows: LogRows, model: Callable[[list[Any], list[str]], Any]) -> FloatArray:
        """What a model of the user's expects, as a share of the range of rewards."""
        given = np.asarray(model(rows.raw_contexts(), rows.names), dtype=np.float64)
        if given.shape != rows.offered.shape or not np.isfinite(given).all():
            raise InvalidArgument(
                "reward_model(...)",
                given,
                f"finite numbers of shape {rows.offered.shape}: rows by actions",
            )
        return np.clip((given - self.data.low) / (self.data.high - self.data.low), 0.0, 1.0)

    def propensities(self, rows: LogRows) -> FloatArray:
        """Those of all actions, or the least; nothing is known: 0, so that q has no part in the bounds."""
        if rows.propensities is not None:
            return rows.propensities
        return np.full((len(rows.rewards), 1), self.least or 0.0)


def pieces(count: int, actions: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of rows taken together: cut where one looks or fits, which depends on the number of rows before only.

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
