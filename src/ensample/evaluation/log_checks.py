"""Checks of a whole log: unusable rows, wrong propensities, actions that came later.

Where an action is chosen with probability p, 1 / p in the rows that chose it and 0 elsewhere has a
mean of at most 1, and of exactly 1 where it was always on offer. A mean above 1 says that the
propensities are not those of the choices, whatever policy is evaluated. A mean near 0 with
propensities that are not small suggests that the name is another action's, misspelt.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.checks import LARGEST
from ensample.errors import InvalidArgument

if TYPE_CHECKING:
    import polars

LEAST_PROPENSITY = 1e-9  # the weight of a smaller one would outweigh all other rows
STANDARD_ERRORS = 4.0
FALSE_ALARM = 1e-4  # of the warning that propensities are not those of the choices
STRAY_ROWS = 5
STRAY_WEIGHT = 0.01  # mean weight
REMEDY = (
    ": have it logged, or leave these rows out where what they lack has nothing to do with "
    "the rewards"
)


class RowMistake(NamedTuple):
    """A kind of mistake, and the rows of a log that have it."""

    column: str
    rows: Any  # an expression of polars, true for rows with the mistake
    expected: str
    verb: str = "have others"
    remedy: str = ""

    @property
    def count(self) -> Any:
        """Expression of polars for the number of rows."""
        return self.rows.sum().alias(self.name)

    @property
    def name(self) -> str:
        return f"{self.column}: {self.verb}"

    def error(self, source: "polars.LazyFrame", wrong: int, count: int) -> InvalidArgument:
        """Return the error that shows the first of the `wrong` rows."""
        import polars as pl

        rows = source.with_row_index("row in the log")
        first = rows.select(pl.col("row in the log").filter(self.rows).min())
        place = first.collect(engine="streaming").item()
        value = source.select(self.column).slice(place, 1).collect().item()
        value = value.to_list() if isinstance(value, pl.Series) else value
        where = f"row {place:,} is the first (counted from 0)"
        expected = f"{self.expected}; {wrong:,} of {count:,} rows {self.verb}, {where}{self.remedy}"
        return InvalidArgument(f"log.{self.column}", value, expected)


def number_mistakes() -> list[RowMistake]:
    """Return mistakes in the columns that every log has. Rows without a reward are not used."""
    import polars as pl

    reward, rewarded = pl.col("reward").cast(pl.Float64), pl.col("reward").is_not_null()
    propensity = pl.col("propensity").cast(pl.Float64)
    missing = propensity.is_null() | propensity.is_nan()
    outside = ~missing & ~propensity.is_between(LEAST_PROPENSITY, 1.0)
    of_all = "the probability with which the action was chosen, in every row with a reward"
    in_range = f"probabilities in (0, 1] of the actions chosen, none below {LEAST_PROPENSITY:g}"
    finite = f"finite numbers of at most {LARGEST:g}"
    too_large, nameless = ~reward.abs().is_between(0.0, LARGEST), pl.col("action").is_null()
    return [
        RowMistake("propensity", rewarded & missing, of_all, "have none", REMEDY),
        RowMistake("propensity", rewarded & outside, in_range),
        RowMistake("reward", rewarded & too_large, finite),
        RowMistake("action", rewarded & nameless, "names of actions", "have none"),
    ]


def list_mistake(has_lists: bool) -> RowMistake:
    """Return the mistake of offers and propensities that are missing or of different lengths."""
    import polars as pl

    lengths = pl.col("offer").list.len() == pl.col("propensities").list.len()
    wrong = pl.col("reward").is_not_null() & ~lengths.fill_null(False)
    return RowMistake(
        "propensities", wrong if has_lists else pl.lit(False), "lists as long as `offer`"
    )


class ActionWeights(NamedTuple):
    """Weights of one action over all rows with a propensity, rewarded or not."""

    name: str
    chosen: int
    first: int  # row that chose it first, counted from 0
    total: float
    squares: float
    largest: float
    rows: int

    @property
    def mean(self) -> float:
        return self.total / self.rows

    @property
    def is_stray(self) -> bool:
        """True if it was chosen a few times, with propensities that say many."""
        return self.chosen <= STRAY_ROWS and self.mean < STRAY_WEIGHT

    def is_beyond_one(self, tests: int) -> bool:
        """Return whether the mean is above 1 beyond chance, with so many actions tested."""
        square = self.squares / self.rows
        return weight_beyond_one(self.mean, square, self.largest, self.rows, tests) > 0.0


def action_weights(source: "polars.LazyFrame") -> list[ActionWeights]:
    """Return the weights of every action chosen, by name.

    >>> import polars as pl
    >>> log = pl.LazyFrame({"action": ["a", "b"], "propensity": [0.5, 0.25], "reward": [1.0, None]})
    >>> [(each.name, each.chosen, each.first, each.mean) for each in action_weights(log)]
    [('a', 1, 0, 1.0), ('b', 1, 1, 2.0)]
    """
    import polars as pl

    propensity = pl.col("propensity").cast(pl.Float64)
    is_usable = propensity.is_between(LEAST_PROPENSITY, 1.0) & pl.col("action").is_not_null()
    rows = source.with_row_index("row").select(
        pl.col("action").cast(pl.String),
        pl.when(is_usable).then(pl.col("row")),
        pl.when(is_usable).then(1.0 / propensity).alias("weight"),
    )
    weight = pl.col("weight")
    sums = rows.group_by("action").agg(
        weight.count().alias("chosen"),
        pl.col("row").min(),
        weight.sum().alias("total"),
        (weight**2).sum().alias("squares"),
        weight.max().alias("largest"),
    )
    sums = sums.with_columns(pl.col("chosen").sum().alias("rows"))
    found = sums.collect(engine="streaming").sort("action")
    return [ActionWeights(*row) for row in found.rows() if row[1]]


def weight_beyond_one(
    mean: float, square: float, largest: float, rows: int, tests: int = 1
) -> float:
    """Return how far a mean weight is above 1, less what chance allows for one of `tests` means.

    Chance allows four standard errors and, since a few rows of equal weight have no standard error,
    what Hoeffding's inequality allows in one of 10,000 logs with weights up to the largest seen.
    """
    error = math.sqrt(max(square - mean**2, 0.0) / rows)
    slack = largest * math.sqrt(math.log(tests / FALSE_ALARM) / (2.0 * rows))
    return max(0.0, mean - max(STANDARD_ERRORS * error, slack) - 1.0)


class Offering(NamedTuple):
    """Numbers of rewarded rows with and without one action on offer."""

    rows: int  # all of them
    without: int  # those that do not offer it
    first: int  # the first that does, counted from 0 among all rows of the log
    interrupted: bool  # whether some later one does not


def offering(source: "polars.LazyFrame", action: str) -> Offering:
    """Return how often a log offers an action that some row offers.

    >>> import polars as pl
    >>> log = pl.LazyFrame({"offer": [["a"], ["a", "b"], ["a", "b"]], "reward": [1.0, 0.0, 1.0]})
    >>> offering(log, "b")
    Offering(rows=3, without=1, first=1, interrupted=False)
    """
    import polars as pl

    there = pl.col("offer").cast(pl.List(pl.String)).list.contains(action)
    rewarded = pl.col("reward").is_not_null().alias("rewarded")
    rows = source.select(there.alias("there"), rewarded).with_row_index("row")
    without = pl.col("rewarded") & ~pl.col("there")
    sums = rows.select(
        pl.col("rewarded").sum().alias("rows"),
        without.sum().alias("without"),
        pl.col("row").filter(pl.col("there")).min().alias("first"),
        pl.col("row").filter(without).max().alias("last without"),
    )
    count, missing, first, last = sums.collect(engine="streaming").row(0)
    return Offering(count, missing, first, last is not None and last > first)
