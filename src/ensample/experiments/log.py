"""The log: one row for each decision, with what became of it. Version 1 of the schema; docs/log.md says what columns mean.

The library, the simulator, evaluation and the service write and read this and nothing else.
"""

import io
import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.experiments.actions import Actions
from ensample.experiments.events import Activated, Changed, Decided, Event, Expired, Rewarded
from ensample.experiments.plain import PlainDict
from ensample.experiments.settings import Settings
from ensample.experiments.state import merged
from ensample.extras import package
from ensample.files import write_whole

if TYPE_CHECKING:
    import polars

__all__ = ["LOG_VERSION", "Row", "frame_of", "log_frame", "log_rows", "log_schema", "read_log", "write_jsonl", "write_parquet"]

LOG_VERSION = 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]
"""A row as plain data: times are microseconds since 1970, contexts JSON."""


def log_schema() -> "dict[str, Any]":
    """Columns and their types in a frame of polars."""
    pl = package("polars")
    time = pl.Datetime("us", "UTC")
    return {
        "log_version": pl.Int32,
        "id": pl.String,
        "time": time,
        "experiment": pl.String,
        "policy_version": pl.Int64,
        "round": pl.Int64,
        "context": pl.String,
        "offer": pl.List(pl.String),
        "features": pl.String,
        "action": pl.String,
        "propensity": pl.Float64,
        "propensities": pl.List(pl.Float64),
        "member": pl.Int64,
        "drawn": pl.String,
        "floor": pl.Float64,
        "baseline": pl.String,
        "share": pl.Float64,
        "active": pl.Boolean,
        "reward": pl.Float64,
        "outcome": pl.String,
        "reward_time": time,
        "duplicate": pl.Int32,
        "late": pl.Int32,
        "not_shown": pl.Int32,
    }


def log_rows(settings: Settings, events: Iterable[Event]) -> list[Row]:
    """Of the events of an experiment."""
    book = Book(settings)
    for event in events:
        book.enter(event)
    return list(book.rows.values())


class Book:
    """Rows in the order of the decisions, filled in as rewards come."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.actions: Actions = dict(settings.actions or {})
        self.rows: dict[str, Row] = {}
        self.waiting: dict[str, Row] = {}

    def enter(self, event: Event) -> None:
        match event:
            case Decided():
                self.rows[event.id] = self.waiting[event.id] = self.decided(event)
            case Rewarded():
                self.rewarded(event)
            case Activated():
                if event.outcome == "applied":
                    self.rows[event.id]["active"] = True
            case Expired():
                self.expired(event)
            case Changed():
                kept = {name: features for name, features in self.actions.items() if name not in event.removed}
                self.actions = kept | event.added

    def decided(self, event: Decided) -> Row:
        names, baseline = event.offer, self.settings.baseline
        moment = event.features or {}
        features = {name: merged(self.actions.get(name), moment.get(name)) for name in names}
        known = event.propensities
        held = baseline is not None and baseline[0] in names
        return {
            "log_version": LOG_VERSION,
            "id": event.id,
            "time": event.time,
            "experiment": self.settings.name,
            "policy_version": event.version,
            "round": event.round,
            "context": compact(event.context),
            "offer": list(names),
            "features": compact(features) if any(item is not None for item in features.values()) else None,
            "action": event.action,
            "propensity": None if known is None else known[names.index(event.action)],
            "propensities": None if known is None else list(known),
            "member": event.member,
            "drawn": event.drawn,
            "floor": self.settings.floor,
            "baseline": baseline[0] if baseline is not None and held else None,
            "share": baseline[1] if baseline is not None and held else 0.0,
            "active": event.active,
            "reward": None,
            "outcome": "waiting",
            "reward_time": None,
            "duplicate": 0,
            "late": 0,
            "not_shown": 0,
        }

    def rewarded(self, event: Rewarded) -> None:
        row = self.rows.get(event.id)
        if row is None:
            return  # unknown
        if event.outcome != "applied":
            row[event.outcome] += 1
            return
        row["reward"] = event.value if row["reward"] is None else row["reward"] + event.value
        row["reward_time"] = event.time
        if self.settings.reward.rule == "first":
            row["outcome"] = "applied"
            del self.waiting[event.id]

    def expired(self, event: Expired) -> None:
        """As `State.due_at`: the earliest deadlines first, which all are as far from their decisions."""
        wait = self.settings.reward.wait_microseconds
        if wait is None:
            return
        due = [row for row in self.waiting.values() if row["time"] + wait < event.time]
        for row in sorted(due, key=lambda row: (row["time"], row["round"]))[: event.most]:
            del self.waiting[row["id"]]
            if row["reward"] is not None:
                row["outcome"] = "applied"
            elif self.settings.reward.default is None or not row["active"]:
                row["outcome"] = "expired"
            else:
                row["outcome"], row["reward"], row["reward_time"] = "default", self.settings.reward.default, event.time


def compact(value: PlainDict | list[Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def log_frame(settings: Settings, events: Iterable[Event]) -> "polars.DataFrame":
    """The log as a frame."""
    return frame_of(log_rows(settings, events))


def frame_of(rows: list[Row]) -> "polars.DataFrame":
    """Rows with times in microseconds as a frame of the schema."""
    pl = package("polars")
    columns = {name: [row[name] for row in rows] for name in log_schema()}
    series = []
    for name, kind in log_schema().items():
        timed = isinstance(kind, pl.Datetime)
        column = pl.Series(name, columns[name], pl.Int64 if timed else kind)
        series.append(column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC") if timed else column)
    frame: polars.DataFrame = pl.DataFrame(series)
    return frame


def write_parquet(frame: "polars.DataFrame", path: str | os.PathLike[str]) -> None:
    def write(file: BinaryIO) -> None:
        buffer = io.BytesIO()  # polars would close the file
        frame.write_parquet(buffer)
        file.write(buffer.getbuffer())

    write_whole(file_path("path", path), write)


def write_jsonl(frame: "polars.DataFrame", path: str | os.PathLike[str]) -> None:
    """A line for each row; times as text, the context and features as objects."""

    def write(file: BinaryIO) -> None:
        for row in frame.iter_rows(named=True):
            file.write(json.dumps(opened(row), separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    write_whole(file_path("path", path), write)


def opened(row: Row) -> Row:
    """As a line of JSON has it."""
    found = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
    for name in ("context", "features"):
        found[name] = None if row[name] is None else json.loads(row[name])
    return found


def read_log(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """A log that was written as Parquet or JSON lines (`.jsonl`), as a frame.

    >>> import ensample as es, tempfile
    >>> experiment = es.Experiment("news", actions=["sport", "culture"])
    >>> experiment.reward(experiment.decide({"age": 31}), 1)
    'applied'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     experiment.to_jsonl(f"{folder}/log.jsonl")
    ...     es.read_log(f"{folder}/log.jsonl").equals(experiment.log())
    True
    """
    file = file_path("path", path)
    if not file.is_file():
        raise InvalidArgument("path", os.fspath(path), "a log that was written as Parquet or JSON lines")
    pl = package("polars")
    frame = frame_of([closed(path, line) for line in lines_of(file)]) if file.suffix == ".jsonl" else pl.read_parquet(file)
    checked_log(path, frame)
    return frame


def checked_log(path: object, frame: "polars.DataFrame") -> None:
    """Raise unless a frame is a log of this version, with columns of these types."""
    missing = [name for name in log_schema() if name not in frame.columns]
    if missing:
        raise InvalidArgument("path", path, f"a log; the columns {', '.join(missing)} are missing")
    newest = frame["log_version"].max() if len(frame) else LOG_VERSION
    if newest != LOG_VERSION:
        raise InvalidArgument("path", path, f"a log of version {LOG_VERSION}, not {newest!r}")


def lines_of(file: Path) -> Iterable[str]:
    with file.open(encoding="utf-8") as lines:
        yield from (line for line in lines if line.strip())


def closed(path: object, line: str) -> Row:
    """The inverse of `opened`, with times in microseconds."""
    try:
        row = json.loads(line)
        found = {name: row[name] for name in log_schema()}
        for name in ("time", "reward_time"):
            found[name] = (
                None if row[name] is None else (datetime.fromisoformat(row[name]) - EPOCH) // timedelta(microseconds=1)
            )
        for name in ("context", "features"):
            found[name] = None if row[name] is None else compact(row[name])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument("path", path, f"lines of a log ({type(error).__name__}: {error} in {line[:60]!r})") from None
    return found
