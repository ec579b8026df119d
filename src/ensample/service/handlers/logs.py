"""The log of an experiment: out, in, and what another policy would have made of it."""

import asyncio
import math
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse

from ensample.errors import EnsampleError, InvalidArgument
from ensample.evaluation import evaluate as evaluated
from ensample.experiments import Experiment
from ensample.service.calls import Call
from ensample.service.exports import FORMATS, learned_from, pieces
from ensample.service.handlers.experiments import hosted, time_of
from ensample.service.messages import EvaluateCall, Evaluated, Imported
from ensample.service.recipes import made
from ensample.service.refusals import Refusal
from ensample.service.sizes import check_batch

WORDS = tuple(FORMATS)


async def export(call: Call) -> Response:
    """Piece by piece, each made in a thread when the one before has been sent."""
    found, format = hosted(call), call.query("format", WORDS)
    now = await time_of(found)
    name = f"{call.path('experiment')}{FORMATS[format].suffix}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    made_pieces = pieces(found.experiment, format, now)

    async def stream() -> AsyncIterator[bytes]:
        try:
            while (piece := await call.service.aside(next, made_pieces, None)) is not None:
                yield piece
        finally:
            await asyncio.shield(call.service.aside(made_pieces.close))  # type: ignore[attr-defined]

    return StreamingResponse(stream(), 200, headers, FORMATS[format].content_type)


async def take_log(call: Call) -> Imported:
    """What was decided elsewhere, with its rewards: learned, and no decisions of this experiment."""
    found, format = hosted(call), call.query("format", WORDS)
    body: bytes = call.body
    if not body:
        raise Refusal(400, "expected a log as the body")

    def answer() -> Imported:
        try:
            return Imported(learned_from(found.experiment, format, body))
        except EnsampleError as error:
            raise without_path(error) from None
        except Exception as error:  # of a reader that did not expect what it was given
            raise InvalidArgument(
                "body", f"{len(body)} bytes", f"a log as {format} ({type(error).__name__})"
            ) from None

    return await found.worker.ask(answer)


def without_path(error: EnsampleError) -> EnsampleError:
    """The file is ours and means nothing to the caller."""
    if isinstance(error, InvalidArgument) and error.argument == "path":
        return InvalidArgument("body", "a log", error.expected)
    if isinstance(error, InvalidArgument) and error.argument == "log":
        return InvalidArgument("log", "that of the experiment", error.expected)
    return error


async def evaluate(call: Call) -> Evaluated:
    body: EvaluateCall = call.body
    settings = call.service.settings
    check_batch(body.policies, settings)
    targets = [
        made("recipe", target, settings) if isinstance(target, dict) else target
        for target in body.policies
    ]
    found = hosted(call)
    now = await time_of(found)
    async with call.service.evaluating:
        return Evaluated(
            await call.service.aside(evaluations, found.experiment, targets, body, now)
        )


def evaluations(
    experiment: Experiment, targets: list[Any], body: EvaluateCall, now: int | None
) -> list[dict[str, Any]]:
    """Of the log in a file, which may be larger than memory."""
    rules = experiment.settings.reward
    low = rules.low if body.low is None and rules.rule == "first" else body.low
    high = rules.high if body.high is None and rules.rule == "first" else body.high
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        with path.open("wb") as file:
            file.writelines(pieces(experiment, "parquet", now))
        try:
            found = [
                evaluated(
                    os.fspath(path),
                    target,
                    low=low,
                    high=high,
                    alarm=body.alarm,
                    interval=body.interval,
                    question=body.question,
                    missing=body.missing,
                )
                for target in targets
            ]
        except EnsampleError as error:
            raise without_path(error) from None
    return [plain(each.to_dict()) for each in found]


def plain(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
