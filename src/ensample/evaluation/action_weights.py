"""How often each action was chosen, beside how often its propensities say.

Where an action is chosen with probability p, 1 / p in the rows that chose it and 0 elsewhere has a mean of at most 1: exactly 1
where it always could be chosen. Beyond 1 the propensities are not those of the choices, whatever policy is asked about; next to
0, with propensities that are not small, its name may be that of another action with a slip of the pen.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from ensample.evaluation.mistakes import LEAST
from ensample.extras import package

if TYPE_CHECKING:
    import polars


CHANCE = 4.0  # standard errors
FALSE_ALARM = 1e-4  # of the warning that propensities are not those of the log
HANDFUL = 5  # rows
STRAY = 0.01  # mean weight


class ActionWeights(NamedTuple):
    """Of one action, over all rows that have a propensity: those without a reward were drawn as the others."""

    name: str
    chosen: int
    first: int  # the first row that chose it, counted from 0
    total: float  # of the weights
    squares: float
    largest: float
    rows: int

    @property
    def mean(self) -> float:
        return self.total / self.rows

    @property
    def is_stray(self) -> bool:
        """Whether it was chosen a few times, by propensities that say many."""
        return self.chosen <= HANDFUL and self.mean < STRAY

    def is_beyond_one(self, looked: int) -> bool:
        """By more than chance, where one looks at as many actions."""
        return (
            beyond_one(self.mean, self.squares / self.rows, self.largest, self.rows, looked) > 0.0
        )


def action_weights(source: "polars.LazyFrame") -> list[ActionWeights]:
    """Of every action chosen, by name.

    >>> import polars as pl
    >>> log = pl.LazyFrame({"action": ["a", "b"], "propensity": [0.5, 0.25], "reward": [1.0, None]})
    >>> [(each.name, each.chosen, each.first, each.mean) for each in action_weights(log)]
    [('a', 1, 0, 1.0), ('b', 1, 1, 2.0)]
    """
    pl = package("polars", "evaluate")
    propensity = pl.col("propensity").cast(pl.Float64)
    known = pl.when(propensity.is_between(LEAST, 1.0) & pl.col("action").is_not_null())
    rows = source.with_row_index("row").select(
        pl.col("action").cast(pl.String),
        known.then(pl.col("row")),
        known.then(1.0 / propensity).alias("weight"),
    )
    weight = pl.col("weight")
    sums = rows.group_by("action").agg(
        weight.count().alias("chosen"),
        pl.col("row").min(),
        weight.sum().alias("total"),
        (weight**2).sum().alias("squares"),
        weight.max().alias("largest"),
    )
    found = (
        sums.with_columns(pl.col("chosen").sum().alias("rows"))
        .collect(engine="streaming")
        .sort("action")
    )
    return [ActionWeights(*row) for row in found.rows() if row[1]]


def beyond_one(mean: float, square: float, largest: float, rows: int, looked: int = 1) -> float:
    """By how much a mean weight is beyond 1, as far as that cannot be chance; `looked`: at how many of them one looks.

    By four standard errors, and by what Hoeffding's inequality allows once in 10,000 logs with weights up to the largest seen:
    a few rows that all have the same weight have no standard error.
    """
    error = math.sqrt(max(square - mean**2, 0.0) / rows)
    slack = largest * math.sqrt(math.log(looked / FALSE_ALARM) / (2.0 * rows))
    return max(0.0, mean - max(CHANCE * error, slack) - 1.0)
