"""A log as evaluation reads it: piece by piece, never the whole of it, with the actions by number.

A log is a frame of polars or pandas, or a file: Parquet, JSON lines, CSV, or VW's dsjson. Its columns are those of
`Experiment.log()` (docs/log.md); `columns` says what they are called where they have other names. Needed are `action`,
`propensity` and `reward`; `offer` and `propensities` say what else could have been chosen and how likely, `context` what was
known.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ensample.checks import file_path, number
from ensample.errors import EnsampleError, InvalidArgument, WrongType
from ensample.evaluation.action_weights import action_weights
from ensample.evaluation.contexts import ContextColumns
from ensample.evaluation.mistakes import complain, mistake_of_lists, mistakes_of_numbers
from ensample.experiments.log.dsjson import read_dsjson
from ensample.extras import package, require
from ensample.frames import columns_of, is_frame
from ensample.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import polars


BOUNDS = ("reward_low", "reward_high")
NEEDED = "action", "propensity", "reward"
Columns: TypeAlias = Mapping[str, str | Sequence[str]]
Missing: TypeAlias = Literal["cut", "drop", "zero"]
HEAD = 1000  # rows that say what contexts consist of
MOST_ACTIONS = 100_000
MOST_STRAYS = 3  # of which one is told
BEYOND = (
    'if no more rewards will come, count decisions without one as 0 with missing="zero" (--missing zero), '
    'or leave out only those with missing="drop" (--missing drop)'
)
AS_ZERO = 'if a decision without a reward has earned nothing, count it as 0 with missing="zero" (--missing zero)'
SLACK = 1e-6  # by which probabilities may miss what they should be: some logs have floats of single precision


class LogRows(NamedTuple):
    """Some rows of a log, in its order; K actions by number. Rewards are in [0, 1]."""

    rewards: FloatArray  # [n]
    chosen: IntArray  # [n]
    propensity: FloatArray  # of the action chosen [n]
    propensities: FloatArray | None  # [n, K], 0 where not on offer; None where they were not logged
    offered: BoolArray  # [n, K]
    contexts: FloatArray  # [n, p]
    frame: "polars.DataFrame"  # the rows themselves
    names: list[str]  # of the actions [K]
    places: IntArray  # in the log [n]

    def between(self, start: int, stop: int) -> "LogRows":
        """Those of rows start .. stop - 1 of the log."""
        first, last = np.searchsorted(self.places, (start, stop)).tolist()
        part = slice(first, last)
        return self._replace(
            rewards=self.rewards[part],
            chosen=self.chosen[part],
            propensity=self.propensity[part],
            propensities=None if self.propensities is None else self.propensities[part],
            offered=self.offered[part],
            contexts=self.contexts[part],
            frame=self.frame[part],
            places=self.places[part],
        )

    @property
    def drawn(self) -> FloatArray:
        """1 for the action chosen, 0 for the others: [n, K]."""
        found = np.zeros(self.offered.shape)
        found[np.arange(len(self.chosen)), self.chosen] = 1.0
        return found

    def raw_contexts(self) -> list[Any]:
        """The contexts as a function of the user's gets them: JSON is opened, None where there are none."""
        if "context" not in self.frame.columns:
            return [None] * self.frame.height
        contexts = self.frame["context"].to_list()
        return [
            json.loads(context) if isinstance(context, str) else context for context in contexts
        ]

    def raw_features(self) -> list[dict[str, Any] | None]:
        """Of the actions of each row, by name; None where none has any."""
        if "features" not in self.frame.columns:
            return [None] * self.frame.height
        features = self.frame["features"].to_list()
        return [json.loads(known) if isinstance(known, str) else known for known in features]

    def raw_offers(self) -> list[dict[str, Any]]:
        """What was on offer in each row: names, with their features or None."""
        places = [np.flatnonzero(row).tolist() for row in self.offered]
        return [
            {self.names[place]: (known or {}).get(self.names[place]) for place in there}
            for there, known in zip(places, self.raw_features(), strict=True)
        ]


class LoggedData:
    """A log that has been looked through once: how many rows, which actions, which rewards."""

    def __init__(
        self,
        log: Any,
        columns: Columns | None = None,
        low: float | None = None,
        high: float | None = None,
        missing: Missing = "cut",
    ) -> None:
        require("polars", user="evaluate")
        if missing not in ("cut", "drop", "zero"):
            raise InvalidArgument("missing", missing, '"cut", "drop" or "zero"')
        self.source = named(scan(log), columns or {})
        self.columns = self.source.collect_schema().names()
        if lacking := [name for name in NEEDED if name not in self.columns]:
            theirs = f'columns={{"{lacking[0]}": "its name"}}, on the command line --columns {lacking[0]}=NAME'
            needed = f"columns {', '.join(NEEDED)}; missing: {', '.join(lacking)} (if it has another name: {theirs})"
            raise InvalidArgument("log", self.columns, needed)
        self.has_all = {"offer", "propensities"} <= set(self.columns)
        self.waiting, self.cut_unrewarded = (
            self.cut_off() if missing == "cut" and "outcome" in self.columns else (0, 0)
        )
        self.zeros = self.count_as_zero() if missing == "zero" else 0
        seen = self.look_through()
        self.count, self.unrewarded, self.unpaid = (
            int(seen[name][0]) for name in ("count", "unrewarded", "unpaid")
        )
        if self.count == self.unrewarded:
            raise InvalidArgument(
                "log", log, f"at least one row with a reward{self.why_nothing_is_left()}"
            )
        self.rarest = float(seen["rarest"][0])
        low, high = (
            said if given is None else given
            for given, said in zip((low, high), self.said_range(), strict=True)
        )
        self.low, self.high, self.assumed = self.range(seen["least"][0], seen["most"][0], low, high)
        self.names = self.actions()
        self.weights = action_weights(self.source)
        self.strays = (
            []
            if "offer" in self.columns
            else [each for each in self.weights if each.is_stray][:MOST_STRAYS]
        )
        self.contexts = ContextColumns([])
        if "context" in self.columns:
            self.contexts = ContextColumns.seen_in(
                self.source.select("context").head(HEAD).collect().to_series()
            )

    def why_nothing_is_left(self) -> str:
        """Return what to add to the error of a log in which no row has a reward."""
        if self.waiting:
            end = f'row {self.count:,} still waits for its reward, and missing="cut" ends the log there'
            return f"; {end}, so no row is left: {BEYOND}"
        return f"; {AS_ZERO}" if self.unpaid else ""

    def cut_off(self) -> tuple[int, int]:
        """Leave out all rows from the first that still waits for its reward; return their number, and of those without one.

        Of decisions with a wait those that are rewarded already are not like the others: clicks come before their absence.
        """
        polars = package("polars", "evaluate")
        waits = (
            (self.is_shown() & (polars.col("outcome") == "waiting")).fill_null(False).alias("waits")
        )
        rows = self.source.select(waits).with_row_index("row")
        first = (
            rows.select(polars.col("row").filter(polars.col("waits")).min())
            .collect(engine="streaming")
            .item()
        )
        if first is None:
            return 0, 0
        rest = self.source.slice(first).select(
            polars.len(), polars.col("reward").is_null().sum().alias("unrewarded")
        )
        count, unrewarded = rest.collect(engine="streaming").row(0)
        self.source = self.source.head(first)
        return int(count), int(unrewarded)

    def count_as_zero(self) -> int:
        """Set the rewards that decisions lack to 0 and return their number: all decisions that were shown."""
        polars = package("polars", "evaluate")
        reward = polars.col("reward").cast(polars.Float64)
        missing = self.is_shown() & reward.is_null()
        count = int(self.source.select(missing.sum()).collect(engine="streaming").item())
        self.source = self.source.with_columns(
            polars.when(missing).then(0.0).otherwise(reward).alias("reward")
        )
        return count

    def is_shown(self) -> "polars.Expr":
        """Return an expression that is true where a decision was shown: a decision that was not has no reward to lack."""
        pl = package("polars", "evaluate")
        shown: polars.Expr = (
            pl.col("active").fill_null(True) if "active" in self.columns else pl.lit(True)
        )
        return shown

    def look_through(self) -> "polars.DataFrame":
        """The one row of what is to be known of all rows, none of which has what none may have. Lists are asked after by
        themselves, and nothing is filtered: polars would hold all that it reads.
        """
        polars = package("polars", "evaluate")
        reward, propensity = (
            polars.col(name).cast(polars.Float64) for name in ("reward", "propensity")
        )
        of_numbers, of_lists = mistakes_of_numbers(), mistake_of_lists(self.has_all)
        numbers = self.source.select(
            polars.len().alias("count"),
            reward.is_null().sum().alias("unrewarded"),
            (self.is_shown() & reward.is_null()).sum().alias("unpaid"),
            reward.min().alias("least"),
            reward.max().alias("most"),
            polars.when(reward.is_not_null()).then(propensity).min().alias("rarest"),
            *(mistake.count for mistake in of_numbers),
        )
        lists = self.source.select(of_lists.count).collect(engine="streaming")
        seen = numbers.collect(engine="streaming").hstack(lists)
        for mistake in (*of_numbers, of_lists):
            if wrong := int(seen[mistake.name][0]):
                complain(mistake, self.source, wrong, int(seen["count"][0]))
        return seen

    def actions(self) -> list[str]:
        """The names of all actions, in their own order, whatever the log's."""
        polars = package("polars", "evaluate")
        found: set[str] = set()
        for column in ("action", *(("offer",) if "offer" in self.columns else ())):
            words = polars.col(column).explode() if column == "offer" else polars.col(column)
            unique = (
                self.source.select(words.cast(polars.String).unique())
                .collect(engine="streaming")
                .to_series()
            )
            found |= set(unique.drop_nulls())
        if len(found) > MOST_ACTIONS:
            raise InvalidArgument("log.action", len(found), f"at most {MOST_ACTIONS:,} actions")
        return sorted(found)

    def said_range(self) -> tuple[float | None, float | None]:
        """What the log itself says that rewards lie in: the widest of its rows', None where some row says nothing."""
        if not set(BOUNDS) <= set(self.columns):
            return None, None
        polars = package("polars", "evaluate")
        low, high = (polars.col(name).cast(polars.Float64) for name in BOUNDS)
        known = (low.is_not_null() & high.is_not_null()).all().alias("known")
        found = self.source.select(low.min(), high.max(), known).collect(engine="streaming").row(0)
        return (found[0], found[1]) if found[2] else (None, None)

    @staticmethod
    def range(
        least: float, most: float, low: float | None, high: float | None
    ) -> tuple[float, float, bool]:
        """(low, high, whether nobody said so): those of the rewards seen, and at least 0 to 1 where these are in between.

        A log of clicks with nothing but ones says nothing of rewards below 1.
        """
        shares = least >= 0.0 and most <= 1.0
        bottom = (0.0 if shares else least) if low is None else number("low", low)
        top = (1.0 if shares else most) if high is None else number("high", high)
        if top < bottom:
            raise InvalidArgument("high", top, f"a number above low = {bottom:g}")
        if bottom > least or top < most:
            raise InvalidArgument(
                "log.reward",
                [least, most],
                f"numbers from {bottom:g} to {top:g}, as low and high say",
            )
        return bottom, top if top > bottom else bottom + 1.0, low is None or high is None

    def rows(self, start: int, stop: int) -> LogRows:
        """Rows start .. stop - 1 of the log, those that have a reward."""
        with reading(f"rows {start} to {stop - 1}"):
            return self._rows(start, stop)

    def _rows(self, start: int, stop: int) -> LogRows:
        polars = package("polars", "evaluate")
        frame = self.source.slice(start, stop - start).collect()
        rewarded = frame["reward"].is_not_null()
        places, frame = start + np.flatnonzero(rewarded.to_numpy()), frame.filter(rewarded)
        actions = polars.Enum(self.names)
        chosen = (
            frame["action"]
            .cast(polars.String)
            .cast(actions)
            .to_physical()
            .to_numpy()
            .astype(np.int64)
        )
        shape = frame.height, len(self.names)
        rewards = (frame["reward"].cast(polars.Float64).to_numpy() - self.low) / (
            self.high - self.low
        )
        propensity = frame["propensity"].cast(polars.Float64).to_numpy()
        offered, propensities = np.ones(shape, dtype=bool), None
        if "offer" in frame.columns:
            offered[:] = False
            where = np.repeat(np.arange(frame.height), frame["offer"].list.len().to_numpy())
            which = (
                frame["offer"].explode().cast(polars.String).cast(actions).to_physical().to_numpy()
            )
            offered[where, which] = True
            if self.has_all:
                propensities = np.zeros(shape)
                propensities[where, which] = frame["propensities"].explode().to_numpy()
                check_propensities(propensities, chosen, propensity)
            if not offered[np.arange(len(chosen)), chosen].all():
                wrong = frame["action"][int(np.argmin(offered[np.arange(len(chosen)), chosen]))]
                raise InvalidArgument("log.action", wrong, "an action of its row's offer")
        contexts = self.contexts.matrix(
            frame["context"] if "context" in frame.columns else [None] * frame.height
        )
        return LogRows(
            rewards, chosen, propensity, propensities, offered, contexts, frame, self.names, places
        )


@contextmanager
def reading(log: object) -> Iterator[None]:
    """What cannot be read is one of our errors."""
    require("polars", user="evaluate")
    from polars.exceptions import PolarsError

    try:
        yield
    except EnsampleError:
        raise
    except (PolarsError, ValueError, TypeError, OverflowError) as error:
        said = str(error).partition("\n")[0]
        raise InvalidArgument(
            "log", log, f"a log that can be read ({type(error).__name__}: {said})"
        ) from error


def check_propensities(propensities: FloatArray, chosen: IntArray, propensity: FloatArray) -> None:
    """Raise unless they are probabilities, and the chosen action's is the one that was logged by itself."""
    if not (propensities >= 0.0).all() or not np.allclose(
        propensities.sum(axis=1), 1.0, rtol=0.0, atol=SLACK
    ):
        raise InvalidArgument(
            "log.propensities", propensities, "numbers >= 0 whose sum is 1 in every row"
        )
    if not np.allclose(
        propensities[np.arange(len(chosen)), chosen], propensity, rtol=SLACK, atol=0.0
    ):
        raise InvalidArgument(
            "log.propensity", propensity, "in every row the propensity of the action chosen"
        )


def scan(log: Any) -> "polars.LazyFrame":
    """Any log as a lazy frame of polars."""
    import polars

    if isinstance(log, polars.LazyFrame):
        return log
    if isinstance(log, polars.DataFrame):
        return log.lazy()
    if is_frame(log):
        return polars.LazyFrame({name: known(column) for name, column in columns_of(log)})
    if isinstance(log, str | Path):
        return scan_file(file_path("log", log))
    raise WrongType("log", log, "a frame of polars or pandas, or the path of a log")


def known(column: Any) -> list[Any]:
    """The values of a column of pandas, to which NaN is a value that is missing."""
    return [
        None if missing else value
        for value, missing in zip(column.tolist(), column.isna(), strict=True)
    ]


def scan_file(path: Path) -> "polars.LazyFrame":
    import polars

    readers: dict[str, Callable[[Path], polars.LazyFrame]] = {
        ".parquet": polars.scan_parquet,
        ".jsonl": as_all_rows_say(polars.scan_ndjson),
        ".ndjson": as_all_rows_say(polars.scan_ndjson),
        ".csv": as_all_rows_say(polars.scan_csv),
        ".dsjson": lambda file: read_dsjson(file).lazy(),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidArgument("log", str(path), f"a file that ends in {', '.join(readers)}")
    if not path.is_file():
        raise InvalidArgument("log", str(path), "a file that exists")
    return reader(path)


def as_all_rows_say(
    scanner: Callable[..., "polars.LazyFrame"],
) -> Callable[[Path], "polars.LazyFrame"]:
    """With types that hold for the whole file, and not for its first rows: found out once, not for every piece."""
    return lambda file: scanner(
        file, schema=scanner(file, infer_schema_length=None).collect_schema()
    )


def named(source: "polars.LazyFrame", columns: Columns) -> "polars.LazyFrame":
    """With the names that we use; `columns` maps ours to those of the log. A context may be spread over several."""
    if not isinstance(columns, Mapping):
        raise WrongType(
            "columns", columns, "a dict of our names and the log's, such as {'action': 'arm'}"
        )
    there = source.collect_schema().names()
    for ours, theirs in columns.items():
        several = (
            list(theirs) if ours == "context" and isinstance(theirs, list | tuple) else [theirs]
        )
        if not several or any(each not in there for each in several):
            raise InvalidArgument(
                "columns", {ours: theirs}, f"a column of the log: {', '.join(there)}"
            )
    spread = columns.get("context")
    single = {ours: theirs for ours, theirs in columns.items() if isinstance(theirs, str)}
    if not (spread is None or isinstance(spread, str)):
        source = source.with_columns(
            package("polars", "evaluate").struct(list(spread)).alias("context")
        )
    taken = [
        ours
        for ours, theirs in single.items()
        if ours != theirs and ours in there and ours not in single.values()
    ]
    return source.drop(taken).rename({theirs: ours for ours, theirs in single.items()})
