"""The log as others read it, a piece at a time."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ensample.experiments import Experiment
from ensample.experiments.log.builder import log_frames
from ensample.experiments.log.dsjson import dsjson_line, read_dsjson
from ensample.experiments.log.table import Row, opened, read_log, write_pieces

if TYPE_CHECKING:
    import polars


LINES, BYTES = 500, 1 << 18  # of one piece


class Format(NamedTuple):
    content_type: str
    suffix: str


FORMATS = {
    "jsonl": Format("application/x-ndjson", ".jsonl"),
    "parquet": Format("application/vnd.apache.parquet", ".parquet"),
    "dsjson": Format("application/x-ndjson", ".dsjson"),
}


def pieces(experiment: Experiment, format: str, now: int | None) -> Iterator[bytes]:
    """Yield the log as of `now`; whoever reads it need not hurry, and nobody waits for it."""
    with closing(experiment.reader()) as events:
        frames = log_frames(experiment.settings, events.read, now)
        if format == "parquet":
            yield from parquet(frames)
        else:
            yield from lines(frames, jsonl_line if format == "jsonl" else dsjson_line)


def lines(
    frames: "Iterator[polars.DataFrame]", line: Callable[[Row], str | None]
) -> Iterator[bytes]:
    for frame in frames:
        for piece in frame.iter_slices(LINES):
            texts = [text for row in piece.iter_rows(named=True) if (text := line(row)) is not None]
            yield "".join(f"{text}\n" for text in texts).encode()


def jsonl_line(row: Row) -> str:
    return json.dumps(opened(row), separators=(",", ":"), ensure_ascii=False)


def parquet(frames: "Iterator[polars.DataFrame]") -> Iterator[bytes]:
    """A file's last bytes say where its parts are, so it is written to the disk first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        write_pieces(frames, path)
        with path.open("rb") as file:
            while found := file.read(BYTES):
                yield found


def learned_from(experiment: Experiment, format: str, body: bytes) -> int:
    """Learn the rewards of a log; how many there were."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"log{FORMATS[format].suffix}")
        path.write_bytes(body)
        frame = read_dsjson(path) if format == "dsjson" else read_log(path)
    return experiment.learn(frame)
