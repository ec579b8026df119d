"""DR where the logged policy does not learn: then a row may be predicted from later rows too, and the first rows better.

Of the first rows each belongs to a fold, and is predicted from the rows of all other folds. Where its own action was drawn with
the same probabilities whatever became of others, and contexts do not depend on earlier choices, that is as unbiased as
predictions from earlier rows only. Propensities that are the same in every row say the former; as soon as one differs, all is
as predicted in time. Later rows have many before them, and the confidence sequences need predictions that are known before the
reward: neither is touched.

Reference: V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21 (2018).
"""

import numpy as np

from ensample.evaluation.estimators import doubly_robust
from ensample.evaluation.logged import LogRows
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.tally import Estimate, Weighed
from ensample.types import FloatArray

FOLDS = 5
MOST_ROWS = 1 << 12
MOST_CELLS = (
    1 << 16
)  # rows x actions, and the numbers of a model: what is held stays small beside a piece of the log


class Folds:
    """What the terms of DR sum up to beyond those of predictions in time; 0 where nothing speaks for a policy that stays."""

    def __init__(self, actions: int, width: int, used: bool = True) -> None:
        self.surplus = 0.0
        self.stays = used and actions * (width + 1) ** 2 <= MOST_CELLS
        self.models = [ActionRidges(actions, width) for _ in range(FOLDS if self.stays else 0)]
        self.room = min(MOST_ROWS, MOST_CELLS // actions)  # for rows to be held
        self.shares: FloatArray | None = None  # of the actions, in every row so far
        self.contexts, self.rows = list[FloatArray](), list[Weighed]()
        self.count = 0

    def add(self, rows: LogRows, weighed: Weighed) -> None:
        """Take in the next rows."""
        new = len(rows.rewards)
        if not self.stays or not new:
            return
        if rows.propensities is None or self.differ(rows.propensities):
            self.stays, self.surplus = False, 0.0
            self.let_go()
        elif new <= self.room:
            self.room -= new
            self.take(rows.contexts, weighed)
            self.surplus = self.gained()
        else:
            self.room = 0
            self.let_go()

    def let_go(self) -> None:
        """Of what no longer grows."""
        self.models, self.contexts, self.rows = [], [], []

    def differ(self, propensities: FloatArray) -> bool:
        """Whether some row's are others than the first one's."""
        self.shares = propensities[0] if self.shares is None else self.shares
        return bool((propensities != self.shares).any())

    def take(self, contexts: FloatArray, rows: Weighed) -> None:
        """Each model learns the rows that are not of its fold."""
        folds = (self.count + np.arange(len(contexts))) % FOLDS
        for fold, model in enumerate(self.models):
            others = folds != fold
            model.add(contexts[others], rows.chosen[others], rows.rewards[others])
            model.fit()
        self.contexts.append(contexts)
        self.rows.append(rows)
        self.count += len(contexts)

    def gained(self) -> float:
        """All rows that are held, predicted by the model of their fold, less the same predicted in time."""
        contexts = np.concatenate(self.contexts)
        rows = Weighed._make(map(np.concatenate, zip(*self.rows, strict=True)))
        predicted = np.empty(rows.predicted.shape)
        for fold, model in enumerate(self.models):
            predicted[fold::FOLDS] = model.predict(contexts[fold::FOLDS])
        in_folds, in_time = (
            doubly_robust(rows.target, q, rows.chosen, rows.weights, rows.rewards)
            for q in (predicted, rows.predicted)
        )
        return float((in_folds - in_time).sum())

    def corrected(self, found: dict[str, Estimate], count: int) -> dict[str, Estimate]:
        """Estimates of `count` rows with what was gained; intervals stay, and contain their estimates."""
        if self.surplus == 0.0:
            return found
        moved = {name: found[name].value + self.surplus / count for name in ("dr", "lift")}
        return found | {
            name: Estimate(value, min(found[name].low, value), max(found[name].high, value))
            for name, value in moved.items()
        }
