"""The log of an experiment: exported, imported, and what another policy would have made of it."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response, StreamingResponse

from ensample.errors import EnsampleError, InvalidArgument
from ensample.evaluation import evaluate as evaluate_policy
from ensample.experiments import Experiment
from ensample.experiments.log.builder import log_frames
from ensample.experiments.log.dsjson import dsjson_line, read_dsjson
from ensample.experiments.log.table import Row, opened, read_log, write_pieces
from ensample.service.endpoint import Call, Query, get, post
from ensample.service.errors import HTTPError
from ensample.service.handlers.experiments import ONE, hosted, recipe_of, time_of
from ensample.service.limits import check_batch
from ensample.service.schemas import EvaluateCall, Evaluated, Imported

if TYPE_CHECKING:
    import polars

LINES, BYTES = 500, 1 << 18  # of one piece of the stream


class Format(NamedTuple):
    content_type: str
    suffix: str


FORMATS = {
    "jsonl": Format("application/x-ndjson", ".jsonl"),
    "parquet": Format("application/vnd.apache.parquet", ".parquet"),
    "dsjson": Format("application/x-ndjson", ".dsjson"),
}
FORMAT = Query("format", tuple(FORMATS), "jsonl, parquet or dsjson")


@get(f"{ONE}/log", "read", gives="application/x-ndjson", query=FORMAT)
async def export(call: Call) -> Response:
    """The log, as a stream."""
    found, format = hosted(call), call.query("format", FORMAT.allowed)
    in_thread = call.service.in_thread
    pieces = log_pieces(found.experiment, format, await time_of(found))

    async def stream() -> AsyncIterator[bytes]:
        """Make each piece in a thread when the one before has been sent."""
        try:
            while (piece := await in_thread(next, pieces, None)) is not None:
                yield piece
        finally:
            await asyncio.shield(in_thread(pieces.close))  # type: ignore[attr-defined]

    filename = f"{found.name}{FORMATS[format].suffix}"
    headers = {"content-disposition": f'attachment; filename="{filename}"'}
    return StreamingResponse(stream(), 200, headers, FORMATS[format].content_type)


def log_pieces(experiment: Experiment, format: str, now: int | None) -> Iterator[bytes]:
    """Yield the log as of `now`, read by a connection of its own: nobody waits for it."""
    with closing(experiment.reader()) as events:
        frames = log_frames(experiment.settings, events.read, now)
        if format == "parquet":
            yield from parquet(frames)
        else:
            yield from lines(frames, dsjson_line if format == "dsjson" else jsonl_line)


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
    """Yield a Parquet file.

    Its last bytes say where its parts are, so it is written to the disk first.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        write_pieces(frames, path)
        with path.open("rb") as file:
            while found := file.read(BYTES):
                yield found


@post(f"{ONE}/log", "admin", "application/octet-stream", Imported, query=FORMAT, raw=True)
async def take_log(call: Call) -> Imported:
    """Learn the rewards of a log from elsewhere."""
    found, format = hosted(call), call.query("format", FORMAT.allowed)
    if not call.body:
        raise HTTPError(400, "expected a log as the body")
    return await found.worker.ask(partial(learn, found.experiment, format, call.body))


def learn(experiment: Experiment, format: str, body: bytes) -> Imported:
    """Learn the rewards of a log. Its decisions are none of this experiment."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"log{FORMATS[format].suffix}")
            path.write_bytes(body)
            frame = read_dsjson(path) if format == "dsjson" else read_log(path)
        return Imported(experiment.learn(frame))
    except EnsampleError as error:
        raise without_path(error) from None
    except Exception as error:  # of a reader that did not expect what it got
        expected = f"a log as {format} ({type(error).__name__})"
        raise InvalidArgument("body", f"{len(body)} bytes", expected) from None


def without_path(error: EnsampleError) -> EnsampleError:
    """Return an error that does not name our temporary file."""
    if isinstance(error, InvalidArgument) and error.argument == "path":
        return InvalidArgument("body", "a log", error.expected)
    if isinstance(error, InvalidArgument) and error.argument == "log":
        return InvalidArgument("log", "that of the experiment", error.expected)
    return error


@post(f"{ONE}/evaluate", "read", EvaluateCall, Evaluated)
async def evaluate(call: Call) -> Evaluated:
    """What other policies would have earned on the log."""
    service, body = call.service, call.body
    check_batch(body.policies, service.settings)
    targets = [
        recipe_of(target, service.settings) if isinstance(target, dict) else target
        for target in body.policies
    ]
    found = hosted(call)
    now = await time_of(found)
    async with service.evaluating:
        results = await service.in_thread(evaluations, found.experiment, targets, body, now)
    return Evaluated(results)


def evaluations(
    experiment: Experiment, targets: list[Any], body: EvaluateCall, now: int | None
) -> list[dict[str, Any]]:
    """Evaluate policies on the log. It is in a file, as it may be larger than memory."""
    rules = experiment.settings.reward
    bounded = rules.rule == "first"
    options: dict[str, Any] = {
        "low": rules.low if body.low is None and bounded else body.low,
        "high": rules.high if body.high is None and bounded else body.high,
        "alarm": body.alarm,
        "interval": body.interval,
        "question": body.question,
        "missing": body.missing,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        with path.open("wb") as file:
            file.writelines(log_pieces(experiment, "parquet", now))
        try:
            found = [evaluate_policy(str(path), target, **options) for target in targets]
        except EnsampleError as error:
            raise without_path(error) from None
    return [each.to_dict() for each in found]
