"""The log as a table: one row for each decision, with its outcome. docs/log.md says what columns
mean.

The library, the simulator, evaluation and the service write and read this and nothing else. This is
version 2 of the schema.
"""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ensample.checks import file_path
from ensample.errors import EnsampleError, InvalidArgument
from ensample.extras import package
from ensample.files import check_file, write_whole

if TYPE_CHECKING:
    import polars

LOG_VERSION = 2
OLDEST = 1  # that is read: it has no late_rewards
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
KINDS = "a log that was written as Parquet or JSON lines"

Row = dict[str, Any]
"""A row as plain data: times are microseconds since 1970, contexts JSON."""


def log_schema() -> "dict[str, Any]":
    """Return the columns and their types in a frame of polars."""
    pl = package("polars", "a log")
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
        "reward_low": pl.Float64,
        "reward_high": pl.Float64,
        "late_rewards": pl.List(pl.Struct({"value": pl.Float64, "time": time})),
    }


def compact(value: Any) -> str:
    """Write plain data as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def frame_of(rows: list[Row]) -> "polars.DataFrame":
    """Return rows with times in microseconds as a frame of the schema."""
    pl = package("polars", "a log")
    stored = {"late_rewards": pl.List(pl.Struct({"value": pl.Float64, "time": pl.Int64}))}
    series = []
    for name, kind in log_schema().items():
        given = pl.Int64 if isinstance(kind, pl.Datetime) else stored.get(name, kind)
        series.append(pl.Series(name, [row[name] for row in rows], given).cast(kind))
    frame: polars.DataFrame = pl.DataFrame(series)
    return frame


def write_parquet(frame: "polars.DataFrame", path: str | os.PathLike[str]) -> None:
    def write(file: BinaryIO) -> None:
        buffer = io.BytesIO()  # polars would close the file
        frame.write_parquet(buffer)
        file.write(buffer.getbuffer())

    write_whole(file_path("path", path), write)


def write_pieces(frames: "Iterable[polars.DataFrame]", path: str | os.PathLike[str]) -> None:
    """Write frames as one file of Parquet; one of them at a time is held."""
    pl, target = package("polars", "a log"), file_path("path", path)
    check_file("path", target)
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for number, frame in enumerate(frames):
            parts.append(Path(folder) / f"{number}.parquet")
            frame.write_parquet(parts[-1])
        joined = parts[0]
        if len(parts) > 1:
            joined = Path(folder) / "joined.parquet"
            pl.scan_parquet(parts).sink_parquet(joined)
        with joined.open("rb") as source:
            write_whole(target, lambda file: shutil.copyfileobj(source, file))


def write_jsonl(frames: "Iterable[polars.DataFrame]", path: str | os.PathLike[str]) -> None:
    """Write a line for each row; times as text, the context and features as objects."""

    def write(file: BinaryIO) -> None:
        for frame in frames:
            for row in frame.iter_rows(named=True):
                file.write(compact(opened(row)).encode() + b"\n")

    write_whole(file_path("path", path), write)


def opened(row: Row) -> Row:
    """Return a row as a line of JSON has it."""
    found = dict(row)
    for name in ("time", "reward_time"):
        found[name] = None if row[name] is None else row[name].isoformat()
    if row["late_rewards"]:
        late = [each | {"time": each["time"].isoformat()} for each in row["late_rewards"]]
        found["late_rewards"] = late
    for name in ("context", "features"):
        found[name] = None if row[name] is None else json.loads(row[name])
    return found


def closed(path: object, line: str) -> Row:
    """Return a line of JSON as a row, with times in microseconds: the inverse of `opened`."""
    try:
        row = json.loads(line)
        if "late_rewards" not in row:  # of version 1
            row["late_rewards"] = None if row["late"] else []
        found = {name: row[name] for name in log_schema()}
        for name in ("time", "reward_time"):
            found[name] = None if row[name] is None else since_epoch(row[name])
        if row["late_rewards"]:
            late = [each | {"time": since_epoch(each["time"])} for each in row["late_rewards"]]
            found["late_rewards"] = late
        for name in ("context", "features"):
            found[name] = None if row[name] is None else compact(row[name])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        expected = f"lines of a log ({type(error).__name__}: {error} in {line[:60]!r})"
        raise InvalidArgument("path", path, expected) from None
    return found


def since_epoch(text: str) -> int:
    """Return a time in ISO 8601 as microseconds since 1970."""
    return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND


def read_log(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Read a log that was written as Parquet or JSON lines (`.jsonl`).

    >>> import ensample as es, tempfile
    >>> experiment = es.Experiment("news", actions=["sport", "culture"])
    >>> experiment.reward(experiment.decide({"age": 31}), 1)
    'applied'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     experiment.to_jsonl(f"{folder}/log.jsonl")
    ...     es.read_log(f"{folder}/log.jsonl").equals(experiment.log())
    True
    """
    file, pl = existing_file(path, f"{KINDS}, and is there"), package("polars", "a log")
    with readable(path, KINDS):
        if file.suffix == ".jsonl":
            with lines_of(file) as lines:
                frame = frame_of([closed(path, line) for line in lines])
        else:
            frame = with_late_rewards(pl.read_parquet(file))
        check_log(path, frame)
    return frame


def existing_file(path: str | os.PathLike[str], expected: str) -> Path:
    file = file_path("path", path)
    if not file.is_file():
        raise InvalidArgument("path", os.fspath(path), expected)
    return file


def with_late_rewards(frame: "polars.DataFrame") -> "polars.DataFrame":
    """Add the column that a log of version 1 lacks: null if rewards were late, as unknown."""
    pl = package("polars", "a log")
    if "late_rewards" in frame.columns or "late" not in frame.columns:
        return frame
    known = pl.when(pl.col("late") == 0).then(pl.lit([], log_schema()["late_rewards"]))
    return frame.with_columns(late_rewards=known)


@contextmanager
def readable(path: object, expected: str) -> Iterator[None]:
    """Convert errors of readers, for which a file is of another kind, to ours."""
    PolarsError = package("polars", "a log").exceptions.PolarsError
    try:
        yield
    except EnsampleError:
        raise
    except (PolarsError, OSError, ValueError, TypeError, OverflowError) as error:
        said = f"{expected} ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        raise InvalidArgument("path", path, said) from error


def check_log(path: object, frame: "polars.DataFrame") -> None:
    """Raise unless a frame is a log of a version that is known, with columns of these types."""
    missing = [name for name in log_schema() if name not in frame.columns]
    if missing:
        raise InvalidArgument("path", path, f"a log; the columns {', '.join(missing)} are missing")
    for name, kind in log_schema().items():
        if frame.schema[name] != kind:
            expected = f"a log whose column {name} is {kind}, not {frame.schema[name]}"
            raise InvalidArgument("path", path, expected)
    for version in frame["log_version"].unique():
        if version is None or not OLDEST <= version <= LOG_VERSION:
            expected = f"a log of version {OLDEST} to {LOG_VERSION}, not {version!r}"
            raise InvalidArgument("path", path, expected)


@contextmanager
def lines_of(file: Path) -> Iterator[Iterable[str]]:
    """Give the lines that are not empty; the file is closed whatever becomes of them."""
    with file.open(encoding="utf-8") as lines:
        yield (line for line in lines if line.strip())
