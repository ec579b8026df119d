"""A log as evaluation reads it: in pieces, with actions by number and rewards in [0, 1].

A log is a frame of polars or pandas, or a file: Parquet, JSON lines, CSV, or VW's dsjson. Its
columns are those of `Experiment.log()` (docs/log.md); the option `columns` renames others. Needed
are `action`, `propensity` and `reward`; `offer` and `propensities` say what else could have been
chosen and how likely, `context` what was known.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.evaluation.contexts import ContextColumns
from ensample.evaluation.log_checks import (
    ActionWeights,
    action_weights,
    list_mistake,
    number_mistakes,
)
from ensample.evaluation.options import EvaluationOptions
from ensample.evaluation.sources import read_errors, renamed, scan
from ensample.extras import require
from ensample.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import polars

BOUNDS = "reward_low", "reward_high"
NEEDED = "action", "propensity", "reward"
HEAD = 1000  # rows from which the columns of contexts are read
MOST_ACTIONS = 100_000
SLACK = 1e-6  # error of probabilities: some logs have floats of single precision
NO_MORE_REWARDS = (
    'if no more rewards will come, count decisions without one as 0 with missing="zero" '
    '(--missing zero), or leave out only those with missing="drop" (--missing drop)'
)
COUNT_AS_ZERO = (
    "if a decision without a reward has earned nothing, "
    'count it as 0 with missing="zero" (--missing zero)'
)


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
        """Return rows start .. stop - 1 of the log."""
        first, last = np.searchsorted(self.places, (start, stop)).tolist()
        parts: dict[str, Any] = self._asdict()
        for name, part in parts.items():
            parts[name] = part if part is None or name == "names" else part[first:last]
        return LogRows(**parts)

    @property
    def drawn(self) -> FloatArray:
        """1 for the action chosen, 0 for the others: [n, K]."""
        found = np.zeros(self.offered.shape)
        found[np.arange(len(self.chosen)), self.chosen] = 1.0
        return found

    def raw_contexts(self) -> list[Any]:
        """Return the contexts of the rows with JSON decoded; None where there are none."""
        return self._decoded("context")

    def raw_features(self) -> list[dict[str, Any] | None]:
        """Return the features of the actions of each row, by name; None where no action has any."""
        return self._decoded("features")

    def _decoded(self, column: str) -> list[Any]:
        if column not in self.frame.columns:
            return [None] * self.frame.height
        values = self.frame[column].to_list()
        return [json.loads(value) if isinstance(value, str) else value for value in values]

    def raw_offers(self) -> list[dict[str, Any]]:
        """Return what was on offer in each row: names, with their features or None."""
        offers = []
        for offered, features in zip(self.offered, self.raw_features(), strict=True):
            names = [self.names[place] for place in np.flatnonzero(offered).tolist()]
            offers.append({name: (features or {}).get(name) for name in names})
        return offers


@dataclass(frozen=True)
class LogSummary:
    """Facts of a log after one pass over it."""

    rows: int
    unrewarded: int  # rows without a reward
    unpaid: int  # of these, rows that were shown
    lowest_propensity: float
    low: float
    high: float
    assumed_range: bool  # whether low and high are guessed from the rewards
    actions: list[str]
    weights: list[ActionWeights]
    has_offers: bool
    has_all_propensities: bool
    waiting: int  # rows cut off from the first that waits for its reward
    cut_unrewarded: int  # of these, rows without a reward
    zeros: int  # rewards that were missing and count as 0


class LoggedData:
    """A log after one pass over it: `summary` says what it has, `rows` reads a piece of it."""

    def __init__(self, log: Any, options: EvaluationOptions | None = None) -> None:
        require("polars", user="evaluate")
        options = options or EvaluationOptions()
        self.source = renamed(scan(log), options.columns or {})
        self.columns = self.source.collect_schema().names()
        check_columns(self.columns)
        self.has_all = {"offer", "propensities"} <= set(self.columns)
        waiting, cut_unrewarded, zeros = 0, 0, 0
        if options.missing == "cut" and "outcome" in self.columns:
            waiting, cut_unrewarded = self._cut_off()
        if options.missing == "zero":
            zeros = self._count_as_zero()
        seen = self._scan_all_rows()
        if seen["count"] == seen["unrewarded"]:
            hint = ""
            if waiting:
                waits = f"row {seen['count']:,} still waits for its reward"
                ends = f'{waits}, and missing="cut" ends the log there'
                hint = f"; {ends}, so no row is left: {NO_MORE_REWARDS}"
            elif seen["unpaid"]:
                hint = f"; {COUNT_AS_ZERO}"
            raise InvalidArgument("log", log, f"at least one row with a reward{hint}")
        low, high, assumed = self._range(seen["least"], seen["most"], options)
        self.summary = LogSummary(
            rows=seen["count"],
            unrewarded=seen["unrewarded"],
            unpaid=seen["unpaid"],
            lowest_propensity=seen["rarest"],
            low=low,
            high=high,
            assumed_range=assumed,
            actions=self._actions(),
            weights=action_weights(self.source),
            has_offers="offer" in self.columns,
            has_all_propensities=self.has_all,
            waiting=waiting,
            cut_unrewarded=cut_unrewarded,
            zeros=zeros,
        )
        self.contexts = ContextColumns([])
        if "context" in self.columns:
            head = self.source.select("context").head(HEAD).collect().to_series()
            self.contexts = ContextColumns.seen_in(head)

    def _cut_off(self) -> tuple[int, int]:
        """Cut off the log where a row waits for its reward; count rows and rows without one.

        Decisions that are rewarded before the wait is over differ from the others: clicks come
        first.
        """
        import polars as pl

        waits = self._is_shown() & (pl.col("outcome") == "waiting")
        rows = self.source.select(waits.fill_null(False).alias("waits")).with_row_index("row")
        found = rows.select(pl.col("row").filter(pl.col("waits")).min())
        first = found.collect(engine="streaming").item()
        if first is None:
            return 0, 0
        unrewarded = pl.col("reward").is_null().sum().alias("unrewarded")
        rest = self.source.slice(first).select(pl.len(), unrewarded)
        self.source = self.source.head(first)
        count, without = rest.collect(engine="streaming").row(0)
        return int(count), int(without)

    def _count_as_zero(self) -> int:
        """Set missing rewards of decisions that were shown to 0; return their number."""
        import polars as pl

        reward = pl.col("reward").cast(pl.Float64)
        missing = self._is_shown() & reward.is_null()
        count = int(self.source.select(missing.sum()).collect(engine="streaming").item())
        filled = pl.when(missing).then(0.0).otherwise(reward).alias("reward")
        self.source = self.source.with_columns(filled)
        return count

    def _is_shown(self) -> "polars.Expr":
        """Return an expression that is true where a decision was shown; others lack no reward."""
        import polars as pl

        shown = pl.col("active").fill_null(True) if "active" in self.columns else pl.lit(True)
        return shown

    def _scan_all_rows(self) -> dict[str, Any]:
        """Return counts and extremes over all rows. Raise where a row has a mistake.

        Lists are scanned on their own, and nothing is filtered: polars would hold all that it
        reads.
        """
        import polars as pl

        reward, propensity = (pl.col(name).cast(pl.Float64) for name in ("reward", "propensity"))
        mistakes, list_mistakes = number_mistakes(), list_mistake(self.has_all)
        numbers = self.source.select(
            pl.len().alias("count"),
            reward.is_null().sum().alias("unrewarded"),
            (self._is_shown() & reward.is_null()).sum().alias("unpaid"),
            reward.min().alias("least"),
            reward.max().alias("most"),
            pl.when(reward.is_not_null()).then(propensity).min().alias("rarest"),
            *(mistake.count for mistake in mistakes),
        )
        lists = self.source.select(list_mistakes.count).collect(engine="streaming")
        seen = numbers.collect(engine="streaming").hstack(lists).row(0, named=True)
        for mistake in (*mistakes, list_mistakes):
            if wrong := seen[mistake.name]:
                raise mistake.error(self.source, wrong, seen["count"])
        return seen

    def _actions(self) -> list[str]:
        """Return the names of all actions, sorted."""
        import polars as pl

        found: set[str] = set()
        columns = [pl.col("action")]
        if "offer" in self.columns:
            columns.append(pl.col("offer").explode())
        for column in columns:
            unique = self.source.select(column.cast(pl.String).unique())
            found |= set(unique.collect(engine="streaming").to_series().drop_nulls())
        if len(found) > MOST_ACTIONS:
            raise InvalidArgument("log.action", len(found), f"at most {MOST_ACTIONS:,} actions")
        return sorted(found)

    def _range(
        self, least: float, most: float, options: EvaluationOptions
    ) -> tuple[float, float, bool]:
        """Return the range of rewards, and whether it is guessed.

        A log of clicks with nothing but ones says nothing about rewards below 1.
        """
        low, high = self._logged_range()
        low = low if options.low is None else float(options.low)
        high = high if options.high is None else float(options.high)
        is_share = least >= 0.0 and most <= 1.0
        bottom = low if low is not None else 0.0 if is_share else least
        top = high if high is not None else 1.0 if is_share else most
        if top < bottom:
            raise InvalidArgument("high", top, f"a number above low = {bottom:g}")
        if bottom > least or top < most:
            expected = f"numbers from {bottom:g} to {top:g}, as low and high say"
            raise InvalidArgument("log.reward", [least, most], expected)
        return bottom, top if top > bottom else bottom + 1.0, low is None or high is None

    def _logged_range(self) -> tuple[float | None, float | None]:
        """Return the widest range of rewards that the rows name; None where some row names none."""
        if not set(BOUNDS) <= set(self.columns):
            return None, None
        import polars as pl

        low, high = (pl.col(name).cast(pl.Float64) for name in BOUNDS)
        is_known = (low.is_not_null() & high.is_not_null()).all().alias("known")
        found = self.source.select(low.min(), high.max(), is_known)
        least, most, known = found.collect(engine="streaming").row(0)
        return (least, most) if known else (None, None)

    def rows(self, start: int, stop: int) -> LogRows:
        """Read the rows start .. stop - 1 of the log that have a reward."""
        with read_errors(f"rows {start} to {stop - 1}"):
            return self._rows(start, stop)

    def _rows(self, start: int, stop: int) -> LogRows:
        import polars as pl

        names, summary = self.summary.actions, self.summary
        frame = self.source.slice(start, stop - start).collect()
        rewarded = frame["reward"].is_not_null()
        places, frame = start + np.flatnonzero(rewarded.to_numpy()), frame.filter(rewarded)
        number = pl.Enum(names)

        def numbers(actions: "polars.Series") -> IntArray:
            return actions.cast(pl.String).cast(number).to_physical().to_numpy().astype(np.int64)

        chosen = numbers(frame["action"])
        rewards = frame["reward"].cast(pl.Float64).to_numpy()
        rewards = (rewards - summary.low) / (summary.high - summary.low)
        propensity = frame["propensity"].cast(pl.Float64).to_numpy()
        offered, propensities = np.ones((frame.height, len(names)), dtype=bool), None
        if "offer" in frame.columns:
            offered[:] = False
            row = np.repeat(np.arange(frame.height), frame["offer"].list.len().to_numpy())
            action = numbers(frame["offer"].explode())
            offered[row, action] = True
            if self.has_all:
                propensities = np.zeros(offered.shape)
                propensities[row, action] = frame["propensities"].explode().to_numpy()
                check_propensities(propensities, chosen, propensity)
            is_offered = offered[np.arange(len(chosen)), chosen]
            if not is_offered.all():
                wrong = frame["action"][int(np.argmin(is_offered))]
                raise InvalidArgument("log.action", wrong, "an action of its row's offer")
        has_context = "context" in frame.columns
        contexts = self.contexts.matrix(frame["context"] if has_context else [None] * frame.height)
        facts = rewards, chosen, propensity, propensities, offered, contexts
        return LogRows(*facts, frame, names, places)


def check_columns(columns: list[str]) -> None:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        first = missing[0]
        hint = f'columns={{"{first}": "its name"}}, on the command line --columns {first}=NAME'
        said = f"missing: {', '.join(missing)} (if it has another name: {hint})"
        raise InvalidArgument("log", columns, f"columns {', '.join(NEEDED)}; {said}")


def check_propensities(propensities: FloatArray, chosen: IntArray, propensity: FloatArray) -> None:
    """Raise unless they are probabilities, and the chosen action's is the one logged on its own."""
    sums = propensities.sum(axis=1)
    if not (propensities >= 0.0).all() or not np.allclose(sums, 1.0, rtol=0.0, atol=SLACK):
        expected = "numbers >= 0 whose sum is 1 in every row"
        raise InvalidArgument("log.propensities", propensities, expected)
    own = propensities[np.arange(len(chosen)), chosen]
    if not np.allclose(own, propensity, rtol=SLACK, atol=0.0):
        expected = "in every row the propensity of the action chosen"
        raise InvalidArgument("log.propensity", propensity, expected)
