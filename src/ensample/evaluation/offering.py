"""Since when, and how often, an action was on offer."""

from typing import TYPE_CHECKING, NamedTuple

from ensample.extras import package

if TYPE_CHECKING:
    import polars


class Offering(NamedTuple):
    """Of one action, in the rows that have a reward."""

    rows: int  # all of them
    without: int  # those that do not offer it
    first: int  # the first that does, counted from 0 among all rows of the log
    interrupted: bool  # whether some later one does not


def offering(source: "polars.LazyFrame", action: str) -> Offering:
    """Which rows of a log offer an action that some row offers.

    >>> import polars as pl
    >>> log = pl.LazyFrame({"offer": [["a"], ["a", "b"], ["a", "b"]], "reward": [1.0, 0.0, 1.0]})
    >>> offering(log, "b")
    Offering(rows=3, without=1, first=1, interrupted=False)
    """
    pl = package("polars", "evaluate")
    there = pl.col("offer").cast(pl.List(pl.String)).list.contains(action)
    rows = source.select(
        there.alias("there"), pl.col("reward").is_not_null().alias("rewarded")
    ).with_row_index("row")
    without = pl.col("rewarded") & ~pl.col("there")
    seen = rows.select(
        pl.col("rewarded").sum().alias("rows"),
        without.sum().alias("without"),
        pl.col("row").filter(pl.col("there")).min().alias("first"),
        pl.col("row").filter(without).max().alias("last without"),
    )
    count, missing, first, last = seen.collect(engine="streaming").row(0)
    return Offering(count, missing, first, last is not None and last > first)
