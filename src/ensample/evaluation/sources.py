"""Logs as lazy frames of polars, from frames and files, with our names of columns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensample.checks import file_path
from ensample.errors import EnsampleError, InvalidArgument, WrongType
from ensample.evaluation.options import Columns
from ensample.experiments.log.dsjson import read_dsjson
from ensample.frames import columns_of, is_frame

if TYPE_CHECKING:
    import polars

Scanner = Callable[..., "polars.LazyFrame"]


@contextmanager
def read_errors(log: object) -> Iterator[None]:
    """Raise InvalidArgument where polars cannot read a log."""
    from polars.exceptions import PolarsError

    try:
        yield
    except EnsampleError:
        raise
    except (PolarsError, ValueError, TypeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise InvalidArgument("log", log, f"a log that can be read ({reason})") from error


def scan(log: Any) -> "polars.LazyFrame":
    """Return any log as a lazy frame."""
    import polars as pl

    if isinstance(log, pl.LazyFrame):
        return log
    if isinstance(log, pl.DataFrame):
        return log.lazy()
    if is_frame(log):
        return pl.LazyFrame({name: pandas_values(column) for name, column in columns_of(log)})
    if isinstance(log, str | Path):
        return scan_file(file_path("log", log))
    raise WrongType("log", log, "a frame of polars or pandas, or the path of a log")


def pandas_values(column: Any) -> list[Any]:
    """Return the values of a column of pandas, which writes a missing value as NaN."""
    pairs = zip(column.tolist(), column.isna(), strict=True)
    return [None if missing else value for value, missing in pairs]


def scan_file(path: Path) -> "polars.LazyFrame":
    import polars as pl

    readers: dict[str, Scanner] = {
        ".parquet": pl.scan_parquet,
        ".jsonl": with_schema_of_all_rows(pl.scan_ndjson),
        ".ndjson": with_schema_of_all_rows(pl.scan_ndjson),
        ".csv": with_schema_of_all_rows(pl.scan_csv),
        ".dsjson": lambda file: read_dsjson(file).lazy(),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidArgument("log", str(path), f"a file that ends in {', '.join(readers)}")
    if not path.is_file():
        raise InvalidArgument("log", str(path), "a file that exists")
    return reader(path)


def with_schema_of_all_rows(scanner: Scanner) -> Scanner:
    """Return a scanner that infers types once, from the whole file."""

    def scan_all(file: Path) -> "polars.LazyFrame":
        return scanner(file, schema=scanner(file, infer_schema_length=None).collect_schema())

    return scan_all


def renamed(source: "polars.LazyFrame", columns: Columns) -> "polars.LazyFrame":
    """Rename columns; `columns` maps our names to the log's, or to several for a context."""
    import polars as pl

    there = source.collect_schema().names()
    for ours, theirs in columns.items():
        is_spread = ours == "context" and isinstance(theirs, list | tuple)
        names = list(theirs) if is_spread else [theirs]
        if not names or any(name not in there for name in names):
            expected = f"a column of the log: {', '.join(there)}"
            raise InvalidArgument("columns", {ours: theirs}, expected)
    context = columns.get("context")
    if context is not None and not isinstance(context, str):
        source = source.with_columns(pl.struct(list(context)).alias("context"))
    single = {ours: theirs for ours, theirs in columns.items() if isinstance(theirs, str)}
    moved = {ours for ours, theirs in single.items() if ours != theirs}
    replaced = [name for name in moved if name in there and name not in single.values()]
    return source.drop(replaced).rename({theirs: ours for ours, theirs in single.items()})
