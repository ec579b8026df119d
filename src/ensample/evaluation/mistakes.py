"""What no row of a log may have: how many rows do, which is the first, and what to do about it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.checks import LARGEST
from ensample.errors import InvalidArgument
from ensample.extras import package

if TYPE_CHECKING:
    import polars


LEAST = 1e-9  # of a propensity: its weight would be all there is
REMEDY = "have it logged, or leave these rows out where what they lack has nothing to do with the rewards"


class RowMistake(NamedTuple):
    """A kind of them."""

    column: str
    rows: Any  # an expression of polars: which rows have it
    expected: str
    have: str = "have others"  # what is said of these rows
    remedy: str = ""

    @property
    def count(self) -> Any:
        """Of the rows that have it."""
        return self.rows.sum().alias(self.name)

    @property
    def name(self) -> str:
        return f"{self.column}: {self.have}"


def mistakes_of_numbers() -> list[RowMistake]:
    """In the columns that every log has; rows without a reward are not used, and may have any."""
    polars = package("polars", "evaluate")
    reward, rewarded = polars.col("reward").cast(polars.Float64), polars.col("reward").is_not_null()
    propensity = polars.col("propensity").cast(polars.Float64)
    missing = propensity.is_null() | propensity.is_nan()
    of_all = "the probability with which the action was chosen, in every row with a reward"
    in_range = f"probabilities in (0, 1] of the actions chosen, none below {LEAST:g}"
    return [
        RowMistake("propensity", rewarded & missing, of_all, "have none", REMEDY),
        RowMistake(
            "propensity", rewarded & ~missing & ~propensity.is_between(LEAST, 1.0), in_range
        ),
        RowMistake(
            "reward",
            rewarded & ~reward.abs().is_between(0.0, LARGEST),
            f"finite numbers of at most {LARGEST:g}",
        ),
        RowMistake(
            "action", rewarded & polars.col("action").is_null(), "names of actions", "have none"
        ),
    ]


def mistake_of_lists(there: bool) -> RowMistake:
    """Lists of offers and propensities, where there are some, that are missing or of two lengths."""
    polars = package("polars", "evaluate")
    lengths = (polars.col("offer").list.len() == polars.col("propensities").list.len()).fill_null(
        False
    )
    rows = polars.col("reward").is_not_null() & ~lengths if there else polars.lit(False)
    return RowMistake("propensities", rows, "lists as long as `offer`")


def complain(mistake: RowMistake, source: "polars.LazyFrame", wrong: int, count: int) -> None:
    """Raise the error that shows the first of these rows."""
    polars = package("polars", "evaluate")
    places = source.with_row_index("row in the log").select(
        polars.col("row in the log").filter(mistake.rows).min()
    )
    first = places.collect(engine="streaming").item()
    value = source.select(mistake.column).slice(first, 1).collect().item()
    value = value.to_list() if isinstance(value, polars.Series) else value
    where = (
        f"{wrong:,} of {count:,} rows {mistake.have}, row {first:,} is the first (counted from 0)"
    )
    remedy = f": {mistake.remedy}" if mistake.remedy else ""
    raise InvalidArgument(f"log.{mistake.column}", value, f"{mistake.expected}; {where}{remedy}")
