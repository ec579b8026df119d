"""Cross-fitted DR where the logged policy does not learn: rows are predicted from later rows too.

Each of the first rows belongs to a fold, and is predicted from the rows of all other folds. That is
as unbiased as predictions from earlier rows where actions are drawn with the same probabilities
whatever happened before, and contexts do not depend on earlier choices. Propensities that are equal
in all rows say the former; as soon as one differs, earlier rows alone are used. Later rows have
many before them, and the confidence sequences need predictions that are known before the reward:
neither is changed.

Reference: V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21
(2018).
"""

import numpy as np

from ensample.evaluation.estimators import doubly_robust
from ensample.evaluation.log import LogRows
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.sums import Estimate, WeighedRows
from ensample.types import FloatArray

FOLDS = 5
MOST_ROWS = 1 << 12
MOST_CELLS = 1 << 16  # rows x actions, and numbers of a model: little beside a piece of the log


class CrossFitting:
    """Sum of cross-fitted terms of DR less those predicted in time; 0 if the policy may learn."""

    def __init__(self, actions: int, width: int, enabled: bool = True) -> None:
        self.surplus = 0.0
        self.is_constant = enabled and actions * (width + 1) ** 2 <= MOST_CELLS
        folds = FOLDS if self.is_constant else 0
        self.models = [ActionRidges(actions, width) for _ in range(folds)]
        self.room = min(MOST_ROWS, MOST_CELLS // actions)  # rows that may still be kept
        self.shares: FloatArray | None = None  # propensities of every row so far
        self.contexts: list[FloatArray] = []
        self.rows: list[WeighedRows] = []
        self.count = 0

    def add(self, rows: LogRows, weighed: WeighedRows) -> None:
        """Add the next rows while propensities stay the same and there is room."""
        new = len(rows.rewards)
        if not self.is_constant or not new:
            return
        if rows.propensities is None or self._differ(rows.propensities):
            self.is_constant, self.surplus = False, 0.0
            self._forget()
        elif new <= self.room:
            self.room -= new
            self._keep(rows.contexts, weighed)
            self.surplus = self._surplus()
        else:
            self.room = 0
            self._forget()

    def _forget(self) -> None:
        self.models, self.contexts, self.rows = [], [], []

    def _differ(self, propensities: FloatArray) -> bool:
        self.shares = propensities[0] if self.shares is None else self.shares
        return bool((propensities != self.shares).any())

    def _keep(self, contexts: FloatArray, rows: WeighedRows) -> None:
        """Teach each model the rows that are not of its fold."""
        folds = (self.count + np.arange(len(contexts))) % FOLDS
        for fold, model in enumerate(self.models):
            others = folds != fold
            model.add(contexts[others], rows.chosen[others], rows.rewards[others])
            model.fit()
        self.contexts.append(contexts)
        self.rows.append(rows)
        self.count += len(contexts)

    def _surplus(self) -> float:
        """Return the cross-fitted terms of all rows kept, less those predicted in time."""
        contexts = np.concatenate(self.contexts)
        rows = WeighedRows._make(map(np.concatenate, zip(*self.rows, strict=True)))
        predicted = np.empty(rows.predicted.shape)
        for fold, model in enumerate(self.models):
            predicted[fold::FOLDS] = model.predict(contexts[fold::FOLDS])
        fitted, in_time = (
            doubly_robust(rows.target, q, rows.chosen, rows.weights, rows.rewards)
            for q in (predicted, rows.predicted)
        )
        return float((fitted - in_time).sum())

    def correct(self, found: dict[str, Estimate], count: int) -> dict[str, Estimate]:
        """Return estimates with the surplus; intervals are widened to contain them."""
        if self.surplus == 0.0:
            return found
        moved = {name: found[name].value + self.surplus / count for name in ("dr", "lift")}
        return found | {
            name: Estimate(value, min(found[name].low, value), max(found[name].high, value))
            for name, value in moved.items()
        }
